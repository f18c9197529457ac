r"""What the commands and environments of LaTeX mean for the text: tables of names.

A command that neither stands here nor has a function in `read_tex.py` is unknown: its name is seen or accounted for, as
it may stand for a text.
"""

from __future__ import annotations

import unicodedata


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _pairs(text: str) -> dict[str, str]:
    words = text.split()
    return dict(zip(words[::2], words[1::2], strict=True))


LEVELS = {
    name: level
    for level, name in enumerate(
        "part chapter section subsection subsubsection paragraph subparagraph".split(), start=1
    )
}
SECTION = LEVELS["section"]

# Commands that are a matter of looks.

_DROPPED_ARGUMENTS = {
    1: """
vspace hspace addvspace bibliographystyle pagestyle thispagestyle usepackage RequirePackage documentclass
documentstyle color hyphenation graphicspath foreignlanguage colorbox parbox scalebox raisebox linespread newcounter
pagecolor bibinfo lstset usetikzlibrary hypertarget captionsetup geometry urlstyle theoremstyle ccsdesc setmainfont
fontencoding fontfamily fontseries fontshape enlargethispage PassOptionsToPackage rotatebox cline cmidrule hhline
rowcolor cellcolor columncolor specialrule captionof mintinline pgfplotsset tikzset sisetup setstretch vphantom
ExecuteOptions LoadClass setlist titleformat bstctlcite mathversion DeclareGraphicsExtensions lstdefinelanguage
lstdefinestyle newfloat setsansfont setmonofont addtokomafont setkomafont setdefaultlanguage setotherlanguage
inputencoding crefname Crefname textcolor
""",
    2: "resizebox rule fontsize providecolor colorlet newcolumntype DeclareGraphicsRule titlespacing fontspec",
    3: "definecolor",
}
DROPPED = {name: count for count, names in _DROPPED_ARGUMENTS.items() for name in names.split()}
"""Command -> number of its first arguments that are no text: what they say is looks, or a name within the source."""
MEASURES = {
    **dict.fromkeys("setlength addtolength settowidth settoheight settodepth".split(), 2),
    **dict.fromkeys("newlength newsavebox newdimen newskip newcount".split(), 1),
}
"""Commands of lengths -> number of arguments, in braces or not."""
LAYOUT = _names("""
@ bf it rm sf tt sc sl em bfseries itshape rmfamily sffamily ttfamily scshape slshape upshape mdseries normalfont tiny
scriptsize footnotesize small normalsize large Large LARGE huge Huge selectfont boldmath unboldmath textbf textit
textrm textsf texttt textsc textsl textup textmd textnormal emph uline uwave textlf mbox hbox fbox framebox makebox
text center centering flushleft flushright raggedright raggedleft noindent indent NoIndent hline toprule midrule
bottomrule addlinespace endhead endfirsthead endfoot endlastfoot allowbreak nolinebreak nobreak break nopagebreak
filbreak goodbreak sloppy fussy protect xspace relax ignorespaces unskip leavevmode null begingroup endgroup bgroup
egroup makeatletter makeatother frontmatter mainmatter backmatter onecolumn newblock flushbottom raggedbottom strut
mathstrut hss vss vfil vfill dotfill hrulefill phantomsection doublespacing singlespacing onehalfspacing
normalbaselines nonumber notag url nolinkurl path texorpdfstring shortstack makecell thead fi else or expandafter
noexpand csname endcsname global long outer immediate ContinuedFloat subcaption qedhere frenchspacing nonfrenchspacing
balance IEEEpeerreviewmaketitle IEEEoverridecommandlockouts IEEEPARstart IEEEauthorblockN IEEEauthorblockA
tabularnewline cr crcr noalign ce enquote lstinline linewidth columnwidth paperwidth paperheight EndProcedureLine
smallbreak medbreak bigbreak appendixname numberofauthors alignauthor affaddr restylefloat RestyleAlgo LinesNumbered
state DontPrintSemicolon SetAlgoLined sloppypar raggedcolumns allowdisplaybreaks ProcessOptions
""")
"""Commands that change nothing but looks."""
LENGTHS = _names("""
parindent parskip baselineskip hangindent hangafter looseness tolerance emergencystretch kern vskip hskip lineskip
tabcolsep arrayrulewidth itemsep parsep topsep partopsep leftmargin rightmargin textfloatsep floatsep intextsep
abovecaptionskip belowcaptionskip abovedisplayskip belowdisplayskip oddsidemargin evensidemargin topmargin headheight
headsep footskip columnsep marginparwidth hoffset voffset penalty widowpenalty clubpenalty interfootnotelinepenalty
baselinestretch hyphenpenalty exhyphenpenalty fboxsep fboxrule textwidth textheight hsize vsize raise lower leftskip
rightskip parfillskip doublerulesep pdfpagewidth pdfpageheight floatpagefraction topfraction bottomfraction
textfraction pretolerance hfuzz vfuzz hbadness vbadness mathsurround
""")
"""Commands before a length or a number that is looks, too."""
BREAKS = _names("par newpage clearpage cleardoublepage pagebreak smallskip medskip bigskip maketitle")
SILENT = _names("""
index glossary setcounter addtocounter stepcounter refstepcounter pagenumbering footnotemark selectlanguage
addcontentsline pdfbookmark tableofcontents listoffigures listoftables listofalgorithms printindex printglossary
printglossaries nocite numberwithin counterwithin counterwithout listof altaffilmark glsresetall includeonly
bookmarksetup DeclareUnicodeCharacter addtocontents hyperdef balancecolumns newglossaryentry newacronym DeclareAcronym
unless
""")
"""Commands that give no text where they stand, but may change what is read elsewhere."""

# Environments.

LAYOUT_ENVIRONMENTS = _names("""
document center flushleft flushright quote quotation verse small footnotesize scriptsize tiny large Large titlepage
landscape spacing singlespace doublespace onehalfspace samepage sloppypar appendices abstract thebibliography
frontmatter mainmatter adjustbox threeparttable tablenotes varwidth centering raggedright sideways turn scope group
appendix IEEEbiography IEEEbiographynophoto IEEEkeywords keywords subequations figure table sidewaysfigure
sidewaystable SCfigure wraptable wrapfigure minipage algorithm algorithmic subfigure subtable multicols frame framed
tabbing longtable table* figure* tabular changemargin acknowledgments acks algorithm2e
""")
"""Environments that change nothing but looks; others may print a word of their own."""
TABLES = _names("tabular tabular* tabularx array longtable tabulary tabu supertabular xtabular")
LISTS = _names("itemize enumerate description compactitem compactenum list inparaenum enumerate*")
MATH = frozenset(
    name + star
    for name in (
        "equation align gather multline eqnarray displaymath math flalign alignat xalignat dmath dgroup"
        " IEEEeqnarray empheq"
    ).split()
    for star in ("", "*")
)
DRAWN = _names("tikzpicture picture pspicture axis forest circuitikz pgfpicture feynman asy asydef dot2tex")
"""Environments that are drawings."""
HIDING = _names("comment")
EMBEDDING = _names("filecontents filecontents*")

# Characters and words.

WORDS = {
    **_pairs("""
ss ß ae æ AE Æ oe œ OE Œ aa å AA Å o ø O Ø l ł L Ł i i j j dag † ddag ‡ copyright © pounds £ textellipsis … textendash
– textemdash — textbackslash \uf05c textasciitilde \uf07e textasciicircum \uf05e textunderscore \uf05f textbar |
textless < textgreater > texttrademark ™ textregistered ® textdegree ° textbullet • texteuro € euro € EUR €
textquoteleft ‘ textquoteright ’ textquotedblleft “ textquotedblright ” guillemotleft « guillemotright »
textperiodcentered · textmu µ textpm ± texttimes × textonehalf ½ LaTeX LaTeX TeX TeX BibTeX BibTeX LaTeXe LaTeX2e lq ‘
rq ’ DH Ð dh ð TH Þ th þ ng ŋ textsterling £ yen ¥ textyen ¥ textcent ¢ textdollar \uf024 textwon ₩ textcurrency ¤
textsection § textparagraph ¶ textdagger † textdaggerdbl ‡ textcopyright © textdiv ÷ textminus − textonequarter ¼
textthreequarters ¾ textonesuperior ¹ texttwosuperior ² textthreesuperior ³ textperthousand ‰ textpertenthousand ‱
permil ‰ textordfeminine ª textordmasculine º textnumero № textcelsius °C textohm Ω textexclamdown ¡ textquestiondown
¿ textbraceleft \uf07b textbraceright \uf07d textasteriskcentered ∗ textquotesingle ' textquotedbl \uf022
quotesinglbase ‚ quotedblbase „ glqq „ grqq “ glq ‚ grq ‘ flqq « frqq » guilsinglleft ‹ guilsinglright ›
textvisiblespace ␣ slash / textrightarrow → textleftarrow ← textdblhyphen - textsurd √ textlnot ¬ textbrokenbar ¦
celsius °C percent % Box ☐ CheckedBox ☒ XBox ☒ Square ☐ xmark ✗ cmark ✓
"""),
    **dict.fromkeys(
        "quad qquad space newline linebreak hfill hfil enspace thinspace nobreakspace hrule newlinechar State".split(),
        " ",
    ),
    **dict.fromkeys("and And AND".split(), ", "),
    "nobreakdash": "", "Return": "return ", "Require": "Require: ", "Ensure": "Ensure: ", "If": "if ",
    "ElsIf": "else if ", "Else": "else ", "EndIf": "end if ", "For": "for ", "ForAll": "for all ", "EndFor": "end for ",
    "While": "while ", "EndWhile": "end while ", "Repeat": "repeat ", "Until": "until ",
}  # fmt: skip
"""Commands that are characters or words."""
_GREEK = """
alpha beta gamma delta zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon chi psi omega omicron
""".split()
SIGNS = {
    **_pairs("""
leq ≤ le ≤ leqslant ⩽ geq ≥ ge ≥ geqslant ⩾ neq ≠ ne ≠ approx ≈ approxeq ≊ sim ∼ simeq ≃ cong ≅ equiv ≡ doteq ≐
triangleq ≜ coloneqq ≔ times × cdot · div ÷ pm ± mp ∓ ast ∗ star ⋆ circ ∘ bullet • oplus ⊕ ominus ⊖ otimes ⊗
oslash ⊘ odot ⊙ wedge ∧ land ∧ vee ∨ lor ∨ neg ¬ lnot ¬ cap ∩ cup ∪ uplus ⊎ sqcap ⊓ sqcup ⊔ setminus ∖
smallsetminus ∖ wr ≀ amalg ⨿ diamond ⋄ triangle △ bigtriangleup △ bigtriangledown ▽ triangleleft ◁ triangleright
▷ in ∈ notin ∉ ni ∋ subset ⊂ supset ⊃ subseteq ⊆ supseteq ⊇ subsetneq ⊊ supsetneq ⊋ sqsubseteq ⊑ sqsupseteq ⊒
prec ≺ succ ≻ preceq ⪯ succeq ⪰ ll ≪ gg ≫ lll ⋘ ggg ⋙ lesssim ≲ gtrsim ≳ nleq ≰ ngeq ≱ nless ≮ ngtr ≯ perp ⊥ bot
⊥ top ⊤ parallel ∥ nparallel ∦ mid ∣ nmid ∤ models ⊨ vdash ⊢ dashv ⊣ vDash ⊨ Vdash ⊩ propto ∝ asymp ≍ bowtie ⋈
smile ⌣ frown ⌢ to → rightarrow → leftarrow ← gets ← leftrightarrow ↔ longrightarrow ⟶ longleftarrow ⟵
longleftrightarrow ⟷ Rightarrow ⇒ Leftarrow ⇐ Leftrightarrow ⇔ implies ⟹ impliedby ⟸ iff ⟺ Longrightarrow ⟹
Longleftarrow ⟸ Longleftrightarrow ⟺ mapsto ↦ longmapsto ⟼ hookrightarrow ↪ hookleftarrow ↩ uparrow ↑ downarrow
↓ updownarrow ↕ Uparrow ⇑ Downarrow ⇓ nearrow ↗ searrow ↘ swarrow ↙ nwarrow ↖ rightharpoonup ⇀ rightharpoondown
⇁ leftharpoonup ↼ leftharpoondown ↽ rightleftharpoons ⇌ leadsto ⇝ rightsquigarrow ⇝ twoheadrightarrow ↠ infty ∞
partial ∂ nabla ∇ forall ∀ exists ∃ nexists ∄ emptyset ∅ varnothing ∅ hbar ℏ hslash ℏ imath ı jmath ȷ ell ℓ wp ℘
Re ℜ Im ℑ aleph ℵ beth ℶ angle ∠ measuredangle ∡ surd √ prime ′ backprime ‵ flat ♭ natural ♮ sharp ♯ clubsuit ♣
diamondsuit ♢ heartsuit ♡ spadesuit ♠ sum ∑ prod ∏ coprod ∐ int ∫ iint ∬ iiint ∭ oint ∮ bigcup ⋃ bigcap ⋂ bigvee
⋁ bigwedge ⋀ bigoplus ⨁ bigotimes ⨂ bigodot ⨀ biguplus ⨄ bigsqcup ⨆ therefore ∴ because ∵ ldots … dots … cdots ⋯
vdots ⋮ ddots ⋱ dotsc … dotsb ⋯ dotsm ⋯ dotsi ⋯ langle ⟨ rangle ⟩ lfloor ⌊ rfloor ⌋ lceil ⌈ rceil ⌉ lvert |
rvert | vert | lVert ‖ rVert ‖ Vert ‖ lbrack [ rbrack ] backslash ∖ dagger † ddagger ‡ S § P ¶ checkmark ✓
square □ Box □ blacksquare ■ qed ∎ lozenge ◊ bigstar ★ colon : degree ° epsilon ϵ varepsilon ε phi ϕ varphi φ
vartheta ϑ varpi ϖ varrho ϱ varsigma ς varkappa ϰ digamma ϝ mho ℧ complement ∁ eth ð ltimes ⋉ rtimes ⋊ multimap
⊸ between ≬ pitchfork ⋔ risingdotseq ≓ eqqcolon ≕ circledast ⊛ boxplus ⊞ boxtimes ⊠ dotplus ∔ lt < gt > And &
"""),
    "lbrace": "\uf07b",
    "rbrace": "\uf07d",
    **{name: unicodedata.lookup(f"GREEK SMALL LETTER {name.replace('lambda', 'lamda')}") for name in _GREEK},
    **{
        name.title(): unicodedata.lookup(f"GREEK CAPITAL LETTER {name.replace('lambda', 'lamda')}")
        for name in (*_GREEK, "epsilon", "phi")
    },
}
"""Signs of formulas; no two commands that look different are the same sign."""

# Formulas.

OPERATORS = _names("""
log ln lg exp sin cos tan cot sec csc sinh cosh tanh coth arcsin arccos arctan max min sup inf lim limsup liminf arg
det dim gcd hom ker deg Pr argmax argmin injlim projlim bmod mod
""")
"""Operators that are printed as their names."""
MATH_LAYOUT = _names("""
big Big bigg Bigg bigl bigr bigm Bigl Bigr Bigm biggl biggr biggm Biggl Biggr Biggm displaystyle textstyle scriptstyle
scriptscriptstyle limits nolimits displaylimits nonumber notag mathrm mathbf mathit mathsf mathtt mathnormal bm
boldsymbol pmb rm bf it sf tt mathop mathrel mathbin mathord mathopen mathclose mathpunct mathinner mathchoice smash
hline allowbreak nobreak allowdisplaybreaks displaybreak relax xspace strut mathstrut noindent ensuremath small
footnotesize normalsize scriptsize tiny large unboldmath boldmath hfill vfill centering protect bgroup egroup
begingroup endgroup mathlarger mathsmaller qedhere symbf symbfit enskip enspace linebreak medspace newline qquad quad
space thickspace thinspace
""")
"""Commands of formulas that change nothing but looks."""
TEXTS = _names("""
text mbox hbox textrm textbf textit textsf texttt textnormal textsc textup textmd intertext shortintertext fbox
makebox operatorname operatornamewithlimits mathsc tag
""")
"""Commands with text in a formula."""
ALPHABETS = {
    **dict.fromkeys(("mathbb", "mathds", "mathbbm", "Bbb"), "DOUBLE-STRUCK"),
    **dict.fromkeys(("mathcal", "mathscr", "cal"), "SCRIPT"),
    **dict.fromkeys(("mathfrak", "frak"), "FRAKTUR"),
}
FRACTIONS = _names("frac dfrac tfrac cfrac nicefrac sfrac xfrac ufrac textfrac")
HATS = {
    "hat": "\u0302", "tilde": "\u0303", "bar": "\u0304", "dot": "\u0307", "ddot": "\u0308", "dddot": "\u20db",
    "vec": "\u20d7", "check": "\u030c", "breve": "\u0306", "acute": "\u0301", "grave": "\u0300", "mathring": "\u030a",
    "widehat": "\u0302", "widetilde": "\u0303",
}  # fmt: skip
"""Accents of formulas."""
_NAMED_ARGUMENTS = {
    1: """
overline underline overbrace underbrace overrightarrow overleftarrow boxed cancel bcancel xcancel substack xrightarrow
xleftarrow pmod pod overbracket underbracket bra ket braket norm abs floor ceil
""",
    2: "overset underset stackrel sideset binom dbinom tbinom atop accentset underaccent",
    3: "leftidx",
}
NAMED = {name: count for count, names in _NAMED_ARGUMENTS.items() for name in names.split()}
"""Commands of formulas that are written as name(argument, ...) -> number of arguments."""
OVER = {"over": "/", "choose": "binom", "atop": "atop", "brace": "brace", "brack": "brack"}
MATRICES = {
    "matrix": ("matrix(", ")"), "smallmatrix": ("(", ")"), "pmatrix": ("(", ")"), "psmallmatrix": ("(", ")"),
    "bmatrix": ("[", "]"), "bsmallmatrix": ("[", "]"), "Bmatrix": ("\uf07b", "\uf07d"), "vmatrix": ("|", "|"),
    "Vmatrix": ("‖", "‖"), "array": ("array(", ")"), "cases": ("\uf07b", "\uf07d"), "dcases": ("\uf07b", "\uf07d"),
    "rcases": ("\uf07b", "\uf07d"), "subarray": ("(", ")"),
}  # fmt: skip
"""Environments with rows and cells -> what stands around them."""
MATH_ARGUMENTS = _names("array subarray alignedat alignat alignat* xalignat IEEEeqnarray")
"""Environments of formulas with an argument that is looks."""

PREFIXES = _pairs("""
quecto q ronto r yocto y zepto z atto a femto f pico p nano n micro µ milli m centi c deci d deca da deka da hecto h
kilo k mega M giga G tera T peta P exa E zetta Z yotta Y ronna R quetta Q kibi Ki mebi Mi gibi Gi tebi Ti
""")
UNITS = {
    **_pairs("""
metre m meter m gram g kilogram kg second s ampere A kelvin K mole mol candela cd hertz Hz newton N pascal Pa joule J
watt W coulomb C volt V farad F ohm Ω siemens S weber Wb tesla T henry H celsius °C degreeCelsius °C lumen lm lux lx
becquerel Bq gray Gy sievert Sv katal kat minute min hour h day d degree ° arcminute ′ arcsecond ″ hectare ha litre L
liter L tonne t electronvolt eV dalton Da bel B decibel dB neper Np byte B percent % radian rad steradian sr angstrom
Å barn b knot kn nauticalmile M astronomicalunit au atomicmass u um µm us µs
"""),
    **{
        name: name
        for name in """
bit bar mmHg kg g mg km m cm mm nm s ms ns mol A mA K Hz kHz MHz GHz N kN Pa kPa MPa J kJ W kW MW V mV kV eV keV MeV
GeV l L mL ml kWh dB
""".split()
    },
}
POWERS = {"squared": "^2", "cubed": "^3"}
POWERS_BEFORE = {"square": "^2", "cubic": "^3"}
QUANTITIES = {
    **dict.fromkeys(("SI", "qty"), "nu"), **dict.fromkeys(("si", "unit"), "u"), "num": "n", "ang": "a",
    **dict.fromkeys(("SIrange", "qtyrange"), "nnu"), "numrange": "nn", "numlist": "n",
    **dict.fromkeys(("SIlist", "qtylist", "qtyproduct"), "nu"), "numproduct": "n", "tablenum": "n",
}  # fmt: skip
"""Commands of siunitx -> their arguments: numbers, units, angles."""
