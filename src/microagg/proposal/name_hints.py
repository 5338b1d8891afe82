"""Hints in the names of columns, in several languages: a person, an identity number, money, codes.

Words are compared without case, accents and marks. A star stands for any letters, for languages
such as German that write compounds as one word. This module imports no arrays.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from enum import StrEnum

LONGEST_NAME = 6
"""Words of a name; what has more of them is a sentence."""


class NameHint(StrEnum):
    """Hint that a name gives about its column."""

    PERSON = "the name of somebody"
    SOMEBODY = "a person"
    CONTACT = "how somebody is reached"
    IDENTITY = "a number that names somebody"
    NUMBER = "a number or a key of something"
    OWNER = "somebody or something that has a number"
    TAX = "a tax, or a tax number"
    UNIT = "a household, a company or a patient"
    WEIGHT = "a sampling weight"
    BARE_WEIGHT = "a weight, of a body or of a sample"
    STRATUM = "a stratum"
    CONFIDENTIAL = "what nobody should learn of a person"
    MONEY = "money"
    CODE = "a category"
    KEY = "nothing but the number of something"
    AGE = "an age or a year"


_ID = (
    "id ids ident identifier* identifiant* identificador* identificativo kennung kennziffer "
    "uuid guid"
)
_NUMBER = (
    "no nr nro num nums number numbers nummer* *nummer numero* numer numéro* número* nº "
    "key kod code kode codigo código codice clave "
    "schluessel schlüssel cle clé serial index idx row rownames unnamed lfd lfdnr номер 番号 编号"
)
_OWNERS = (
    "insurance versicherung* seguro security social sozial* national tax steuer* fiscal "
    "passport* licence* license* card karte* account* "
    "konto* phone* telef* customer* client* kunde* cliente member* mitglied* employee* "
    "personal* personnel* mitarbeiter* student* pupil* "
    "schueler* schüler* policy police contract* vertrag* registration reg staff person* "
    "respondent* participant* subject* patient* case "
    "identity identit* identidad vat ust"
)
_WORDS = {
    NameHint.PERSON: (
        "name names *name *names namen nom noms prenom* prénom* nome nomes cognome "
        "cognomi sobrenome* apelido* apellido* nombre nombres "
        "vorname* nachname* naam *naam imie imię nazwisko jmeno jméno prijmeni příjmení "
        "navn *navn namn *namn nimi sukunimi etunimi nev név "
        "nm initials initialen pseudonym* alias signature unterschrift имя фамилия "
        "отчество фио ονομα επωνυμο 姓名 *名前* *氏名* 이름 성명"
    ),
    NameHint.CONTACT: (
        "mail mails *mail *mails email* mailadr* courriel* correo phone* *phone *phones "
        "telef* tel tlf telnr mobile mobil mobilnr mobilnummer* "
        "mobiltel* handy handynr handynummer* movil móvil cellphone* cellulare celular "
        "fax faxnr faxnummer* address* *address *addresses adres* "
        "*adresse* *adressen direccion* dirección* indirizz* endereco* endereço* "
        "domicilio street *street streetn* streetaddr* strasse* straße* *strasse *straße "
        "hausnummer* hausnr rue calle rua ulica gatuadress* kontakt* contact contacts "
        "twitter facebook instagram skype website homepage ip "
        "адрес телефон почта улица *住所* *電話* *地址* *电话* *邮箱* 주소 전화번호"
    ),
    NameHint.IDENTITY: (
        f"{_ID} iban *iban passport* passeport* pasaporte* passaporto* reisepass* passnr "
        f"passnummer* *ausweis* ssn sozialversicherung* svnr "
        "nif dni cpf cnpj nino pesel nss insee bsn cpr personnummer* personalnummer* "
        "personalnr matrikel* matricule* matricola versichert* "
        "steuernummer* steuernr steuerid* steueridentifikation* taxid taxno taxnumber "
        "taxnr kundennummer* kundennr kennzeichen konto "
        "kontonummer* kontonr accountno accountnumber siren siret fiscale login user "
        "userid username паспорт инн снилс *身份证* 주민등록번호 "
        "personid pid uid patientid patientnr clientid clientno customerid customerno "
        "custid employeeid empid empno caseid caseno respid respondentid "
        "recordid recid rowid memberid memberno studentid pupilid staffid subjectid "
        "participantid nationalid cardid cardno accountid schoolid "
        "licenceno licenseno licenceplate licenseplate"
    ),
    NameHint.NUMBER: _NUMBER,
    NameHint.OWNER: _OWNERS,
    NameHint.TAX: "tax taxes steuer* impot* impôt* impuesto* imposta imposte belasting*",
    NameHint.WEIGHT: (
        "pweight* pweights perwt hhwt *wgt pwgtp wtmec* wtint* wtss* wtsaf* weighting "
        "gewichtung* hochrechnungsfaktor* hochrechnung* ponderation* pondération* "
        "ponderacion* ponderación* ponderador ponderazione expansion* expansión* "
        "grossing *weights samplingweight* surveyweight* sampleweight* "
        "hwtfinl wtfinl finalwt finalweight* asecwt wtsupp earnwt"
    ),
    NameHint.BARE_WEIGHT: "weight weights hwt pwt wt wts wgt wgts gewicht* *gewicht poids peso "
    "pesi",
    NameHint.STRATUM: "stratum strata strate strates schicht schichten estrato estratos strato "
    "strati",
    NameHint.CONFIDENTIAL: (
        "income* *income *incomes einkommen* *einkommen revenu* ingreso* reddit* renta "
        "rentas rendimento* inkomen* inkomst* indkomst* dochod* "
        "salar* salair* *salary wage* *wage *wages lohn* *lohn gehalt* *gehalt sueldo* "
        "stipendi* earning* pay payroll verdienst* "
        "diagnos* *diagnose *diagnosis icd icd9 icd10 disease* *disease illness* krank* "
        "*krankheit maladie* enfermedad* malatt* ziekte health* "
        "*health gesundheit* sante santé salud salute hiv aids symptom* medication* "
        "medik* disab* disability handicap* behinderung* discapacidad* "
        "therapy therapie* pregnan* schwanger* addiction* suicid* religio* konfession* "
        "confession* faith glaube* vote votes voted voting wahl "
        "politic* politi* party partei ideolog* sexual* sexualit* orientation "
        "gewerkschaft* syndicat* debt* *debt *debts schuld* *schulden "
        "verschuldung* dette* deuda* debit* crime* crimin* convict* offence* offense* "
        "straftat* vorstraf* delit délit delito доход зарплата диагноз "
        "*収入* *収入 *所得* *诊断* *收入* *宗教*"
    ),
    NameHint.MONEY: (
        "money *money cash geld *geld argent dinero saving* *savings ersparnis* sparen "
        "sparguthaben* epargne* épargne* ahorro* risparmi* expend* expens* "
        "*ausgaben ausgabe* depense* dépense* gasto* spes* spending rent rents rental "
        "miete* *miete loyer* alquiler* affitto* asset* vermogen* "
        "vermögen* vermoegen* patrimoine* patrimonio* wealth turnover* umsatz* *umsatz "
        "ventas sales revenue* profit* gewinn* *gewinn benefice* "
        "bénéfice* beneficio* utile price* preis* *preis prix precio* prezz* cost costs "
        "kosten* *kosten cout coût couts costo* coste* amount* "
        "betrag* *betrag montant* importe* loan* kredit* *kredit pret prêt prestamo* "
        "préstamo* mortgage* hypothek* hypothe* capital* kapital* "
        "balance saldo* solde premium* fee fees gebuhr* gebühr* benefit* *benefits "
        "pension* rente renten* subsid* budget* euro euros eur usd dollar* "
        "export exports import imports turnover deposit* payment* zahlung* investment*"
    ),
    NameHint.CODE: (
        "code codes *code kode codigo código codice type types typ *type tipo kind kinds "
        "art category *category categor* kategor* cat class "
        "*class klass* classe clase region* *region sex sexe sexo sesso geschl* gender "
        "genre genero género marital* marstat civil* *civil "
        "familienstand* zivilstand* matrimonial* status etat état estado stato state "
        "states country land *land lander länder pays pais país paese "
        "province* provinz* provincia district* bezirk* kreis* county department* "
        "departement* département* commune* comune gemeinde* "
        "municip* zip* plz *plz postal* postcode* postleitzahl* cap sector* sektor* "
        "secteur* branch* industr* nace isco isic naics occup* beruf* "
        "profession* race ethni* etni* nationalit* citizenship* staatsang* language* "
        "sprache* langue* idioma lingua flag group groups grp gruppe* "
        "relat* urb* rural* religio* diagnos* icd area zone пол регион *性別* *性别* *地区*"
    ),
    NameHint.AGE: "age ages alter *alter edad eta età leeftijd wiek year years *year jahr* *jahr "
    "annee "
    "année ano año anno born time times futime date dates startdate enddate day days "
    "week weeks month months zeit datum возраст 年齢 年龄",
}
_THINGS = "filename* dateiname* variablename* columnname*"
_UNIT_STEMS = (
    "household haushalt haushalts hh hhold menage ménage foyer hogar hogares familia "
    "famiglia family huishouden hushåll company companies firm "
    "firma firmen unternehmen unternehmens betrieb betriebs entreprise empresa empresas "
    "impresa azienda ditta enterprise establishment bedrijf "
    "patient patienten paciente paziente pacient"
)
_SOMEBODY = (
    "person persona personne persoon individual individuum respondent respondant "
    "befragter employee mitarbeiter employe empleado participant "
    "teilnehmer customer client kunde cliente klant member mitglied student pupil "
    "schueler schüler teacher lehrer doctor arzt medecin owner "
    "subject proband tch judge senator congressman player spieler athlete author authors "
    "autor artist candidate kandidat physician surgeon nurse "
    "interviewer reviewer officer defendant applicant borrower tenant professor lecturer dozent"
)
_UNIT_WORDS = (
    "hid hhid hhnr hhno hhnum idhh idhog idhogar idmen idmenage idunit unitid unitnr "
    "unitno unitnum ptid ptnum ptno ptnr compid compno "
    "db030 hb030"  # EU-SILC
)
_IDENTITIES = "rb030 pb030 bioguide*"
"""Numbers of persons in well-known surveys and registers; compared with the words of a name put
together, digits included.
"""
_WEIGHTS = "db090 rb050 rb060 rb062 rb063 rb064 pb040 pb060 pb080"
"""Sampling weights of EU-SILC, compared in the same way."""
_PERSON_STEMS = (
    "person pers indiv ind subj subject sub respondent resp child kid mother mom woman "
    "pupil stud student teacher tch worker emp employee "
    "cust customer client member player case rec record obs participant user doc doctor"
)
_OTHER_STEMS = (
    "unit sch school hosp hospital inst institution farm plant shop store site center centre "
    "cluster psu group grp team item"
)
_BESIDE_UNITS = "ori orig original of de du des del della der die das the la le el d l s n"
_ABOUT_SAMPLES = (
    "sampling sample survey household hh person persons individual design final grossing "
    "calibration calibrated statistical expansion post "
    "cross longitudinal replicate probability stich* stichprobe* erhebung* haushalt* "
    "enquete enquête sondage encuesta muestra muestral"
)
_ABOUT_BODIES = (
    "body* brain* birth* heart* liver* organ* loss gain change kg lb lbs gram grams "
    "grammes kilo kilos pound pounds height korper* körper* koerper* geburt* geburts* "
    "corps naissance corporel "
    "corporal nacer nacimiento child baby net gross vehicle truck product"
)


def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a name, in lower case without accents; digits are separate words.

    >>> words_of("ID-Straße"), words_of("firstName2"), words_of("OCCUCODE")
    (('id', 'strasse'), ('first', 'name', '2'), ('occucode',))
    """
    apart = re.sub(r"(?<=[a-zß-öø-ÿ\d])(?=[A-ZÀ-ÖØ-Þ])|(?<=\bID)(?=[a-z])", " ", name)
    return tuple(re.findall(r"[^\W\d_]+|\d+", _plain(apart)))


def hint_of_name(name: str) -> frozenset[NameHint]:
    """Return all hints of a name; most names have none.

    >>> (
    ...     sorted(word.name for word in hint_of_name("Vorname")),
    ...     sorted(word.name for word in hint_of_name("hh_income")),
    ... )
    (['PERSON'], ['CONFIDENTIAL'])
    """
    words = words_of(name)
    hints = {what for what, pattern in _patterns().items() if _any(pattern, words)}
    numbered = NameHint.NUMBER in hints or _any(_compiled(_ID), words)
    if numbered and NameHint.OWNER in hints:
        hints.add(NameHint.IDENTITY)
    elif NameHint.IDENTITY in hints and NameHint.CODE in hints and _any(_compiled(_ID), words):
        # the number of a region names nobody
        hints = (hints - {NameHint.IDENTITY}) | {NameHint.NUMBER}
    if NameHint.TAX in hints and hints & {NameHint.CONFIDENTIAL, NameHint.MONEY}:
        hints.discard(NameHint.TAX)
    if not words or name.startswith("Unnamed:"):  # as an index without a name is written
        hints.add(NameHint.NUMBER)
    if _any(_compiled(_THINGS), words):
        hints.discard(NameHint.PERSON)
    hints |= _weight(words, hints) | _by_itself(words) | _numbered(words)
    if _compiled(_WEIGHTS).fullmatch("".join(words)):
        hints.add(NameHint.WEIGHT)
    return frozenset(hints - ({NameHint.BARE_WEIGHT} if NameHint.WEIGHT in hints else set()))


def _weight(words: tuple[str, ...], hints: set[NameHint]) -> set[NameHint]:
    if not hints & {NameHint.WEIGHT, NameHint.BARE_WEIGHT}:
        return set()
    if _any(_compiled(_ABOUT_BODIES), words):
        hints -= {NameHint.WEIGHT, NameHint.BARE_WEIGHT}
        return set()
    if len(words) == 1 and NameHint.BARE_WEIGHT in hints:
        hints.discard(NameHint.WEIGHT)
    return {NameHint.WEIGHT} if _any(_compiled(_ABOUT_SAMPLES), words) else set()


def _by_itself(words: tuple[str, ...]) -> set[NameHint]:
    """Return the hints of names that are a unit or a person alone, or with a word for their number.

    The income of a household is neither.
    """
    stems = "|".join(map(re.escape, dict.fromkeys(_plain(_UNIT_STEMS).split())))
    ends = "(?:e?s)?(?:id|nr|no|num|nummer|number|code|key)?"
    units = re.compile(rf"(?:id)?(?:{stems}){ends}|{_compiled(_UNIT_WORDS).pattern}")
    beside = re.compile(f"{_compiled(f'{_ID} {_NUMBER} {_BESIDE_UNITS}').pattern}|\\d+")
    hints = set()
    for what, pattern in ((NameHint.UNIT, units), (NameHint.SOMEBODY, _compiled(_SOMEBODY))):
        if what is NameHint.UNIT and pattern.fullmatch("".join(words)):
            hints.add(what)
        others = [word for word in words if not pattern.fullmatch(word)]
        if len(others) < len(words) and all(beside.fullmatch(word) for word in others):
            hints.add(what)
    return hints


def _numbered(words: tuple[str, ...]) -> set[NameHint]:
    """Return the hints of a name that is a number or an id and nothing else: `nr`, `childid`,
    `SUBNUM`.
    """
    ends = "(?:id|nr|no|num|nummer|number|key)"
    stems = "|".join(_OTHER_STEMS.split() + _PERSON_STEMS.split())
    keys = re.compile(
        rf"(?:{stems}){ends}|id(?:{stems})|[a-z]num|{_compiled(f'{_ID} {_NUMBER}').pattern}"
    )
    letters = [word for word in words if not word.isdigit()]
    hints = {NameHint.KEY} if letters and all(map(keys.fullmatch, letters)) else set()
    persons = "|".join(_PERSON_STEMS.split())
    joined = "".join(words)
    if re.fullmatch(
        rf"(?:{persons}){ends}|id(?:{persons})|{_compiled(_IDENTITIES).pattern}", joined
    ):
        hints.add(NameHint.IDENTITY)
    return hints


def is_question(name: str) -> bool:
    """Return whether a name is the text of a question, whose single words say little of the
    answers.

    >>> is_question("How safe are the streets at night?"), is_question("street and house number")
    (True, False)
    """
    return "?" in name or len(words_of(name)) > LONGEST_NAME


@functools.cache
def _patterns() -> dict[NameHint, re.Pattern[str]]:
    return {what: _compiled(words) for what, words in _WORDS.items()}


@functools.cache
def _compiled(words: str) -> re.Pattern[str]:
    patterns = (
        re.escape(word).replace(r"\*", r"\w*") for word in dict.fromkeys(_plain(words).split())
    )
    return re.compile("|".join(patterns))


def _any(pattern: re.Pattern[str], words: tuple[str, ...]) -> bool:
    return any(pattern.fullmatch(word) for word in words)


def _plain(text: str) -> str:
    """Small letters without accents; letters of other scripts stay whole."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize(
        "NFC", "".join(mark for mark in apart if not unicodedata.combining(mark))
    )
