"""Sentences in a chat that try to give orders to whoever reads the memory. By rule, pure.

Remembered text is material. A sentence that looks like an order to a model is never shown to one
for making notes: it is only noted, by rule, that it was written. The fence and the source check
stand behind this, for what no pattern knows.
"""

from __future__ import annotations

import re

_MACHINE = (
    r"(?:ai|a\.i\.|llm|language model|model|assistant|bot|chatbot|note[- ]?taker|summari[sz]er"
    r"|memory(?: system| assistant| agent)?|agent|reader|system)"
)
_ABOVE = (
    r"(?:above|previous|prior|earlier|preceding|foregoing|existing|original|other|all|any|every"
    r"|your|these|those|the|my)"
)
_RULES = (
    r"(?:instructions?|rules?|prompts?|messages?|directions?|guidelines?|orders?|context|text"
    r"|conversation|notes?|facts?|memor(?:y|ies)|task|above|before|everything|anything|system)"
)
_PATTERNS = (
    rf"\b(?:ignore|disregard|forget|override|overwrite|skip|bypass|discard)\s+(?:{_ABOVE}\s+){{0,4}}"
    rf"(?:of\s+)?(?:{_ABOVE}\s+){{0,3}}{_RULES}\b",
    r"\b(?:ignore|disregard|forget)\s+(?:what|everything|anything|all)\b.{0,40}\b(?:above|before"
    r"|earlier|previous|told|said|instructed)\b",
    r"\b(?:new|updated|real|actual|hidden|secret)\s+(?:system\s+)?(?:instructions?|task|prompt"
    r"|orders?)\b\s*(?:[:.\-]|is\b|are\b|follow)",
    rf"(?:^|[.!?]\s)\W*(?:dear\s+|attention,?\s+|hey,?\s+|note\s+(?:to|for)\s+(?:the\s+)?|to\s+(?:the|any)\s+"
    rf"|instructions?\s+(?:to|for)\s+(?:the\s+)?){_MACHINE}\b\s*(?:[:,\-]|reading|that|who|when"
    r"|you\b|must|please)",
    rf"\b(?:when|if|while|before|after)\s+(?:you\s+|an?\s+{_MACHINE}\s+|the\s+{_MACHINE}\s+)?"
    r"(?:summari[sz]e|read|process|tak(?:e|ing) notes?|extract|writ(?:e|ing) (?:notes?|facts?"
    r"|memor)|mak(?:e|ing) notes?|answer(?:ing)?)\b.{0,40}\b(?:this|conversation|chat|message|"
    r"notes?|facts?|memor(?:y|ies))\b.{0,40}\b(?:write|say|add|note|include|output|claim|record"
    r"|state|pretend|always|never|instead|store|save|must|reply)",
    r"\byou\s+are\s+(?:now|no longer)\b.{0,60}\b(?:ai|model|assistant|mode|dan|unrestricted|bot"
    r"|agent|persona|note)",
    r"\b(?:from now on|henceforth)\b.{0,30}\b(?:you|write|note|record|store|every|always|all)\b",
    r"\b(?:system|developer|assistant|admin(?:istrator)?)\s*(?:prompt|message|override|note"
    r"|command|mode|update)?\s*:\s*\S",
    r"<\s*/?\s*(?:system|memory|message|messages|chat|session|user|assistant|instructions?)\s*/?>",
    r"<\|[^|>]{1,30}\|>|\[/?INST\]|<<\s*/?SYS\s*>>|(?:^|\s)#{2,}\s*(?:instruction|system|response)",
    r"\b(?:write|output|print|return|reply|respond|answer|say|note|record|store|save|add|include"
    r"|insert|put|log|remember)\b.{0,30}\b(?:instead|only|exactly|nothing else|verbatim)\b.{0,40}"
    r"(?:[:\"“]|\b(?:fact|note|notes|memory|following|words?|line)\b)",
    r"\b(?:add|insert|store|save|record|write|put|include|enter)\b.{0,20}\b(?:to|in|into|as|a|the)"
    r"\s+(?:\w+\s+){0,2}(?:memory|memories|notes?|facts?|summary|records?|database)\b.{0,30}"
    r"(?:[:\"“]|\bthat\b|\bsaying\b)",
    rf"\b(?:the|an?)\s+{_MACHINE}\s+(?:must|should|has to|shall|will now|is required to|needs to)"
    r"\s+(?:now\s+|always\s+|never\s+|only\s+)?(?:write|note|record|store|say|claim|state|output"
    r"|add|forget|ignore|replace|delete|reply|answer|remember)",
    r"\bdo not\s+(?:summari[sz]e|note|record|mention|extract|store|follow)\b.{0,60}\b(?:instead"
    r"|rather|but|write|say|above|conversation)\b",
    r"\b(?:delete|erase|wipe|clear|drop|replace|overwrite)\s+(?:all\s+|every\s+|the\s+|your\s+|any\s+)"
    r"{1,3}(?:stored\s+|saved\s+|previous\s+|other\s+|old\s+)?(?:notes?|facts?|memor(?:y|ies)"
    r"|summar(?:y|ies)|records?)\b",
    r"\bend of (?:the )?(?:chat|conversation|session|messages?|memory|transcript|data|input)\b",
)


_SPACES = re.compile(r"[^\S\n]+")
_BLANK_LINES = re.compile(r"\n(?: ?\n)+")
_ORDERS = tuple(
    re.compile(pattern, re.IGNORECASE | re.MULTILINE | re.DOTALL) for pattern in _PATTERNS
)


def holds_order(text: str) -> bool:
    """Whether any part of a text looks like an order to a model that reads it."""
    close = _BLANK_LINES.sub("\n", _SPACES.sub(" ", text))  # long gaps take the patterns long
    return any(pattern.search(close) is not None for pattern in _ORDERS)
