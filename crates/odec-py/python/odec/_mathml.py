"""Converts equations, as the compiler prints them, to MathML."""

from __future__ import annotations

import re
from html import escape

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.(?!\.)\d*)?(?:e[+-]?\d+)?)|(?P<name>[^\W\d]\w*(?:\.(?!\.)[^\W\d]\w*)*)|(?P<sign><=|>=|==|!=|\.\.|['().,:\[\]+\-*/^<>]))"
)
_GREEK = dict(
    zip(
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi omega".split(),
        "αβγδεζηθικλμνξπρστυφχψω",
    )
)
_GREEK |= {name.capitalize(): letter.upper() for name, letter in _GREEK.items() if name not in ("omicron",)}
_RELATIONS = {"<": "&lt;", "<=": "≤", "==": "=", "!=": "≠", ">": "&gt;", ">=": "≥"}
_BIG = {"sum": "∑", "prod": "∏"}
# how tightly things bind; what binds less than its surroundings wants gets parentheses
_CHOICE, _OR, _AND, _NOT, _RELATION, _SUM, _PRODUCT, _SIGN, _POWER, _ATOM = range(10)

_Part = tuple[str, int]


def equation(left: str, right: str) -> str:
    """`left = right` as a `math` element, or as plain text if it is not a formula."""
    try:
        body = f"{_Reader(left).whole()}<mo>=</mo>{_Reader(right).whole()}"
    except (ValueError, IndexError, RecursionError):
        return f"<code>{escape(left)} = {escape(right)}</code>"
    return f'<math display="block"><mrow>{body}</mrow></math>'


def _row(*parts: str) -> str:
    return f"<mrow>{''.join(parts)}</mrow>"


def _word(name: str) -> str:
    """A name: a Greek letter, a letter with a subscript (the part after `_`), or a word."""
    stem, _, below = name.partition("_")
    if below and stem:
        return f"<msub>{_word(stem)}{_row(*(_word(part) for part in below.split('_') if part))}</msub>"
    shown = _GREEK.get(name, name)
    upright = ' mathvariant="normal"' if len(shown) > 1 else ""
    return f"<mi{upright}>{escape(shown)}</mi>"


def _number(text: str) -> str:
    mantissa, mark, exponent = text.partition("e")
    if not mark:
        return f"<mn>{text}</mn>"
    power = f"<msup><mn>10</mn><mn>{exponent.removeprefix('+').replace('-', '−')}</mn></msup>"
    return power if mantissa == "1" else _row(f"<mn>{mantissa}</mn><mo>·</mo>", power)


class _Reader:
    """Parses an expression, starting with the weakest operators."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        at, text = 0, text.rstrip()
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise ValueError(text[at:])
            self.tokens.append(found.group().strip())
            at = found.end()
        self.at = 0

    def whole(self) -> str:
        body, _ = self.choice()
        if self.at != len(self.tokens):
            raise ValueError(self.tokens[self.at])
        return body

    def next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, *wanted: str) -> str:
        """The next token, if it is one of these."""
        sign = self.next()
        if sign not in wanted or not sign:
            return ""
        self.at += 1
        return sign

    def need(self, sign: str) -> None:
        if not self.take(sign):
            raise ValueError(f"{sign} is missing")

    @staticmethod
    def bound(part: _Part, least: int) -> str:
        body, binds = part
        return body if binds >= least else _row("<mo>(</mo>", body, "<mo>)</mo>")

    def choice(self) -> _Part:
        if not self.take("if"):
            return self.either()
        rows = []
        while True:
            condition = self.bound(self.either(), _OR)
            self.need("then")
            rows.append((self.choice()[0], f"<mtext>if </mtext>{condition}"))
            self.need("else")
            if not self.take("if"):
                break
        rows.append((self.choice()[0], "<mtext>otherwise</mtext>"))
        cells = "".join(f"<mtr><mtd>{value}</mtd><mtd>{when}</mtd></mtr>" for value, when in rows)
        return _row("<mo>{</mo>", f'<mtable columnalign="left left">{cells}</mtable>'), _CHOICE

    def chain(self, below: str, word: str, binds: int, shown: str) -> _Part:
        part: _Part = getattr(self, below)()
        while self.take(word):
            part = (_row(self.bound(part, binds), shown, self.bound(getattr(self, below)(), binds + 1)), binds)
        return part

    def either(self) -> _Part:
        return self.chain("both", "or", _OR, "<mo>∨</mo>")

    def both(self) -> _Part:
        return self.chain("negated", "and", _AND, "<mo>∧</mo>")

    def negated(self) -> _Part:
        if self.take("not"):
            return _row("<mo>¬</mo>", self.bound(self.negated(), _NOT)), _NOT
        return self.relation()

    def relation(self) -> _Part:
        part = self.sum()
        sign = self.take(*_RELATIONS)
        if not sign:
            return part
        left, right = self.bound(part, _SUM), self.bound(self.sum(), _SUM)
        return _row(left, f"<mo>{_RELATIONS[sign]}</mo>", right), _RELATION

    def sum(self) -> _Part:
        part = self.product()
        while sign := self.take("+", "-"):
            right = self.bound(self.product(), _SUM if sign == "+" else _PRODUCT)
            part = (_row(self.bound(part, _SUM), f"<mo>{'+' if sign == '+' else '−'}</mo>", right), _SUM)
        return part

    def product(self) -> _Part:
        part = self.sign()
        while sign := self.take("*", "/"):
            right = self.sign()
            if sign == "/":
                # a bar needs no parentheses
                part = (f"<mfrac>{_row(part[0])}{_row(right[0])}</mfrac>", _PRODUCT)
            else:
                digits = right[0].startswith(("<mn>", "<mrow><mn>"))
                dot = "<mo>·</mo>" if digits else "<mo>&#8290;</mo>"
                part = (_row(self.bound(part, _PRODUCT), dot, self.bound(right, _POWER)), _PRODUCT)
        return part

    def sign(self) -> _Part:
        if self.take("-"):
            return _row("<mo>−</mo>", self.bound(self.sign(), _PRODUCT)), _SIGN
        return self.power()

    def power(self) -> _Part:
        base = self.atom()
        if not self.take("^"):
            return base
        exponent = self.sign()
        return f"<msup>{_row(self.bound(base, _ATOM))}{_row(exponent[0])}</msup>", _POWER

    def atom(self) -> _Part:
        token = self.next()
        self.at += 1
        if token == "(":
            inner = self.choice()
            self.need(")")
            return inner
        if token[:1].isdigit():
            # 1e-3 binds as a product does
            return _number(token), _PRODUCT if "e" in token and not token.startswith("1e") else _ATOM
        if token == "inf":
            return "<mn>∞</mn>", _ATOM
        if not token or not (token[0].isalpha() or token[0] == "_"):
            raise ValueError(token)
        if self.next() == "(":
            return self.call(token)
        return self.reference(token), _ATOM

    def reference(self, name: str) -> str:
        """`p[i, j]'.x`: subscripts below, primes above, components behind."""
        body, below = _word(name), ""
        primes = self.primes()
        if self.take("["):
            parts = [self.bound(self.sum(), _SUM)]
            while self.take(","):
                parts.append(self.bound(self.sum(), _SUM))
            self.need("]")
            below = _row("<mo>,</mo>".join(parts))
            primes += self.primes()
        above = f"<mo>{'′' * primes}</mo>"
        if below:
            body = f"<msubsup>{body}{below}{above}</msubsup>" if primes else f"<msub>{body}{below}</msub>"
        elif primes:
            body = f"<msup>{body}{above}</msup>"
        if self.take("."):
            tail = self.next()
            self.at += 1
            body = _row(body, "<mo>.</mo>", self.reference(tail))
        return body

    def primes(self) -> int:
        count = 0
        while self.take("'"):
            count += 1
        return count

    def call(self, name: str) -> _Part:
        self.need("(")
        if name in _BIG or ":" in self.inside():
            return self.reduction(name)
        operands = []
        while not self.take(")"):
            operands.append(self.choice()[0])
            if self.next() != ")":
                self.need(",")
        if name == "sqrt" and len(operands) == 1:
            return f"<msqrt>{operands[0]}</msqrt>", _ATOM
        if name == "abs" and len(operands) == 1:
            return _row("<mo>|</mo>", operands[0], "<mo>|</mo>"), _ATOM
        if name == "exp" and len(operands) == 1 and len(operands[0]) < 400:
            return f"<msup><mi>e</mi>{_row(operands[0])}</msup>", _POWER
        return _row(_word(name), "<mo>(</mo>", "<mo>,</mo>".join(operands), "<mo>)</mo>"), _ATOM

    def inside(self) -> list[str]:
        """The tokens up to the closing bracket of this call, without those in inner brackets."""
        depth, found = 1, []
        for token in self.tokens[self.at :]:
            depth += (token in "([") - (token in ")]")
            if depth == 0:
                break
            if depth == 1:
                found.append(token)
        return found

    def reduction(self, name: str) -> _Part:
        """`sum(i in 1..N where c: body)`."""
        below = []
        while not self.take(":"):
            if self.take("where"):
                below.append(self.either()[0])
            elif self.take(","):
                continue
            else:
                local = self.next()
                self.at += 1
                below.append(_word(local))
                if self.take("in"):
                    first = self.sum()[0]
                    self.need("..")
                    below[-1] = _row(_word(local), "<mo>=</mo>", first, "<mo>…</mo>", self.sum()[0])
        body = self.bound(self.choice(), _PRODUCT)
        self.need(")")
        big = f"<mo>{_BIG[name]}</mo>" if name in _BIG else f"<mo>{escape(name)}</mo>"
        return _row(f"<munder>{big}{_row('<mo>,</mo>'.join(below))}</munder>", body), _PRODUCT
