"""Text of all kinds, on which two tokenizers must agree."""

from __future__ import annotations

import random
from collections.abc import Sequence

__all__ = ["SAMPLES", "mixed_texts"]

SAMPLES = [
    "",
    " ",
    "Hello, world! It's the 21st of March; they'll've met at 10:45.",
    "I'M SURE HE'LL SAY it's Fine",
    "naïve café, Ångström, Düsseldorf, Škoda, İstanbul, ﬁne",
    "e\u0301 decomposed, A\u030a, \u1e9b\u0323, ὀδός, Привет мир, საქართველო, Ἀθῆναι",
    "你好，世界！今天天气怎么样？漢字かな交じり文、カタカナ。한국어 텍스트입니다",
    "مرحبا بالعالم שלום עולם नमस्ते दुनिया สวัสดีชาวโลก ខ្មែរ",
    "😀 👨‍👩‍👧‍👦 🏳️‍🌈 👍🏽 🇸🇪 ❤️ ✈︎ 🫠🫠",
    "def f(x: int) -> str:\n    return f'{x:>10}'\n\n\n\tif x:\n\t\tpass  # done\r\n",
    '{"city": "Stockholm", "values": [1, 2.50, -3e10], "nested": {"a": null}}',
    "<html>\n  <body class='x'>&nbsp;</body>\n</html>",
    "SELECT * FROM t WHERE a<>b AND c!='d';--",
    "1234567890 ٣٤٥ ²³ ½ Ⅷ 3.14159 1,000,000 0x1F 007",
    "   leading", "trailing   ",
    "a  b   c    d     e" + " " * 40 + "f", " " * 100, "\n" * 40, "\t" * 33, " \n \n\n  \n",
    "\u00a0nbsp\u2003em\u3000ideographic\u200bzero\u200dwidth\ufeffbom",
    "a\x00b\x01\x7f\x85\u2028\u2029",
    "▁already▁escaped ▁▁ <0x0A> <unk>",
    "\U0001d400\U0001d7d8\U00020000\U0010ffff\ue000",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa hahahahahahaha ======== -------- ........",
    "http://example.com/a/b?c=d&e=f#g user@example.com C:\\path\\to\\file",
    "$100 €50 £20 ¥3 ± × ÷ ≠ ∞ ∑ √ → ⇒ ░▒▓ ♪♫",
]  # fmt: skip

_ALPHABETS = [
    "abcdefghijklmnopqrstuvwxyz ",
    "aA bB'sStTlLvVeErRmMdD ",
    "0123456789 .,-+eE",
    " \t\n\r  \u00a0\u3000",
    "\"'`{}[]()<>:;,.!?/\\|@#$%^&*-_=+~ \n",
    "的一是在不了有和人这中大为上个国我以要他、。！",
    "あいうえおカキクケコー가나다라마바",
    "éèêëàâäåæçñöøœßüÿþðŁłŚśŹź",
    "e\u0301\u0300\u030a\u0323o\u0308n\u0303 ",
    "абвгдежзийклмнопрстуфхцчшщъыьэюя ",
    "αβγδεζηθικλμνξοπρστυφχψω ابتثج אבגד कखग กขค",
    "😀😁😂🤣👍🏽🏿\u200d\ufe0f❤🇸🇪",
    "\u2028\u200b\ufeff\x00\x01\x1f\x7f½²Ⅷ٣४",
]


def mixed_texts(count: int, special: Sequence[str] = (), seed: int = 0) -> list[str]:
    """The samples, each special token between words, and ``count`` random texts with special tokens in them."""
    choose = random.Random(seed)
    everything = "".join(_ALPHABETS)
    texts = [*SAMPLES, *(f"a {token}b{token} {token}\n" for token in special)]
    for _ in range(count):
        parts = []
        for _ in range(choose.randint(1, 6)):
            alphabet = choose.choice([*_ALPHABETS, everything])
            parts.append("".join(choose.choices(alphabet, k=choose.randint(1, 20))))
            if special and choose.random() < 0.2:
                parts.append(choose.choice(special))
            if choose.random() < 0.1:
                parts.append(" " * choose.randint(1, 70))
        texts.append("".join(parts))
    return texts
