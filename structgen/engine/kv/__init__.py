"""Where keys and values live: pages, the radix tree over those that outlive requests, and who may have which."""

from structgen.engine.kv.in_flight import InFlight
from structgen.engine.kv.manager import KVManager, PageCopy
from structgen.engine.kv.pages import PagePool
from structgen.engine.kv.radix import Node, RadixTree
from structgen.engine.kv.sequence import CachedSequence

__all__ = ["CachedSequence", "InFlight", "KVManager", "Node", "PageCopy", "PagePool", "RadixTree"]
