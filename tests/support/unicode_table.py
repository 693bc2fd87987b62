"""Writes the table of Unicode's properties from what a JavaScript engine says of every character.

    python tests/support/unicode_table.py > structgen/grammars/regex/unicode_properties.txt

A line holds the kind of property (gc, sc, scx or binary), its names with a bar between them, and ranges of code
points: of each the gap before it and its length less one, in base 36.
"""

from __future__ import annotations

import json
import subprocess
import sys

CATEGORIES = """
    C|Other Cc|Control|cntrl Cf|Format Cn|Unassigned Co|Private_Use Cs|Surrogate L|Letter LC|Cased_Letter
    Ll|Lowercase_Letter Lm|Modifier_Letter Lo|Other_Letter Lt|Titlecase_Letter Lu|Uppercase_Letter M|Mark|Combining_Mark
    Mc|Spacing_Mark Me|Enclosing_Mark Mn|Nonspacing_Mark N|Number Nd|Decimal_Number|digit Nl|Letter_Number
    No|Other_Number P|Punctuation|punct Pc|Connector_Punctuation Pd|Dash_Punctuation Pe|Close_Punctuation
    Pf|Final_Punctuation Pi|Initial_Punctuation Po|Other_Punctuation Ps|Open_Punctuation S|Symbol Sc|Currency_Symbol
    Sk|Modifier_Symbol Sm|Math_Symbol So|Other_Symbol Z|Separator Zl|Line_Separator Zp|Paragraph_Separator
    Zs|Space_Separator
"""

BINARY = """
    Any ASCII Alphabetic|Alpha Assigned ASCII_Hex_Digit|AHex Bidi_Control|Bidi_C Bidi_Mirrored|Bidi_M Case_Ignorable|CI
    Cased Dash Default_Ignorable_Code_Point|DI Deprecated|Dep Diacritic|Dia Emoji Emoji_Component|EComp
    Emoji_Modifier|EMod Emoji_Modifier_Base|EBase Emoji_Presentation|EPres Extended_Pictographic|ExtPict Extender|Ext
    Grapheme_Base|Gr_Base Grapheme_Extend|Gr_Ext Hex_Digit|Hex ID_Continue|IDC ID_Start|IDS Ideographic|Ideo
    Join_Control|Join_C Logical_Order_Exception|LOE Lowercase|Lower Math Noncharacter_Code_Point|NChar
    Pattern_Syntax|Pat_Syn Pattern_White_Space|Pat_WS Quotation_Mark|QMark Radical Regional_Indicator|RI
    Sentence_Terminal|STerm Soft_Dotted|SD Terminal_Punctuation|Term Unified_Ideograph|UIdeo Uppercase|Upper
    Variation_Selector|VS White_Space|space XID_Continue|XIDC XID_Start|XIDS
"""

SCRIPTS = """
    Adlam|Adlm Caucasian_Albanian|Aghb Ahom Arabic|Arab Imperial_Aramaic|Armi Armenian|Armn Avestan|Avst Balinese|Bali
    Bamum|Bamu Bassa_Vah|Bass Batak|Batk Bengali|Beng Beria_Erfe|Berf Bhaiksuki|Bhks Bopomofo|Bopo Brahmi|Brah
    Braille|Brai Buginese|Bugi Buhid|Buhd Chakma|Cakm Canadian_Aboriginal|Cans Carian|Cari Cham Cherokee|Cher
    Chorasmian|Chrs Coptic|Copt|Qaac Cypro_Minoan|Cpmn Cypriot|Cprt Cyrillic|Cyrl Devanagari|Deva Dives_Akuru|Diak
    Dogra|Dogr Deseret|Dsrt Duployan|Dupl Egyptian_Hieroglyphs|Egyp Elbasan|Elba Elymaic|Elym Ethiopic|Ethi Garay|Gara
    Georgian|Geor Glagolitic|Glag Gunjala_Gondi|Gong Masaram_Gondi|Gonm Gothic|Goth Grantha|Gran Greek|Grek
    Gujarati|Gujr Gurung_Khema|Gukh Gurmukhi|Guru Hangul|Hang Han|Hani Hanunoo|Hano Hatran|Hatr Hebrew|Hebr
    Hiragana|Hira Anatolian_Hieroglyphs|Hluw Pahawh_Hmong|Hmng Nyiakeng_Puachue_Hmong|Hmnp Old_Hungarian|Hung
    Old_Italic|Ital Javanese|Java Kayah_Li|Kali Katakana|Kana Kawi Kharoshthi|Khar Khmer|Khmr Khojki|Khoj
    Khitan_Small_Script|Kits Kannada|Knda Kirat_Rai|Krai Kaithi|Kthi Tai_Tham|Lana Lao|Laoo Latin|Latn Lepcha|Lepc
    Limbu|Limb Linear_A|Lina Linear_B|Linb Lisu Lycian|Lyci Lydian|Lydi Mahajani|Mahj Makasar|Maka Mandaic|Mand
    Manichaean|Mani Marchen|Marc Medefaidrin|Medf Mende_Kikakui|Mend Meroitic_Cursive|Merc Meroitic_Hieroglyphs|Mero
    Malayalam|Mlym Modi Mongolian|Mong Mro|Mroo Meetei_Mayek|Mtei Multani|Mult Myanmar|Mymr Nag_Mundari|Nagm
    Nandinagari|Nand Old_North_Arabian|Narb Nabataean|Nbat Newa Nko|Nkoo Nushu|Nshu Ogham|Ogam Ol_Chiki|Olck
    Ol_Onal|Onao Old_Turkic|Orkh Oriya|Orya Osage|Osge Osmanya|Osma Old_Uyghur|Ougr Palmyrene|Palm Pau_Cin_Hau|Pauc
    Old_Permic|Perm Phags_Pa|Phag Inscriptional_Pahlavi|Phli Psalter_Pahlavi|Phlp Phoenician|Phnx Miao|Plrd
    Inscriptional_Parthian|Prti Rejang|Rjng Hanifi_Rohingya|Rohg Runic|Runr Samaritan|Samr Old_South_Arabian|Sarb
    Saurashtra|Saur SignWriting|Sgnw Shavian|Shaw Sharada|Shrd Siddham|Sidd Sidetic|Sidt Khudawadi|Sind Sinhala|Sinh
    Sogdian|Sogd Old_Sogdian|Sogo Sora_Sompeng|Sora Soyombo|Soyo Sundanese|Sund Sunuwar|Sunu Syloti_Nagri|Sylo
    Syriac|Syrc Tagbanwa|Tagb Takri|Takr Tai_Le|Tale New_Tai_Lue|Talu Tamil|Taml Tangut|Tang Tai_Viet|Tavt Tai_Yo|Tayo
    Telugu|Telu Tifinagh|Tfng Tagalog|Tglg Thaana|Thaa Thai Tibetan|Tibt Tirhuta|Tirh Tangsa|Tnsa Todhri|Todr
    Tolong_Siki|Tols Toto Tulu_Tigalari|Tutg Ugaritic|Ugar Vai|Vaii Vithkuqi|Vith Warang_Citi|Wara Wancho|Wcho
    Old_Persian|Xpeo Cuneiform|Xsux Yezidi|Yezi Yi|Yiii Zanabazar_Square|Zanb Inherited|Zinh|Qaai Common|Zyyy
"""

PROPERTIES = [
    *(("gc", name) for name in CATEGORIES.split()),
    *(("binary", name) for name in BINARY.split()),
    *(("sc", name) for name in SCRIPTS.split()),
    *(("scx", name) for name in SCRIPTS.split()),
]

_SCRIPT = """
    const read = require('readline').createInterface({input: process.stdin});
    read.on('line', property => {
        const regex = new RegExp('^\\\\p{' + property + '}$', 'u'), ranges = [];
        for (let point = 0; point < 0x110000; point++)
            if (regex.test(String.fromCodePoint(point)))
                if (ranges.length && ranges[ranges.length - 1][1] === point - 1) ranges[ranges.length - 1][1] = point;
                else ranges.push([point, point]);
        process.stdout.write(JSON.stringify(ranges) + '\\n');
    });
"""


def ask(engine: str, properties: list[str]) -> list[list[list[int]]]:
    """The ranges of code points of each property."""
    done = subprocess.run(
        [engine, "-e", _SCRIPT], input="\n".join(properties).encode(), stdout=subprocess.PIPE, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def spelled(kind: str, names: str) -> str:
    """A property as a pattern has it."""
    name = names.split("|")[0]
    return name if kind == "binary" else f"{kind}={name}"


def _base_36(number: int) -> str:
    digits = ""
    while number or not digits:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits


def _line(kind: str, names: str, ranges: list[list[int]]) -> str:
    numbers: list[str] = []
    end = -1
    for first, last in ranges:
        numbers += [_base_36(first - end - 1), _base_36(last - first)]
        end = last
    return " ".join([kind, names, *numbers])


if __name__ == "__main__":
    answers = ask(sys.argv[1], [spelled(*one) for one in PROPERTIES])
    assert len(answers) == len(PROPERTIES)
    known = {names: ranges for (kind, names), ranges in zip(PROPERTIES, answers, strict=True) if kind == "sc"}
    for (kind, names), ranges in zip(PROPERTIES, answers, strict=True):
        if kind != "scx" or ranges != known[names]:  # a script without extensions has them in the line of the script
            print(_line(kind, names, ranges))
