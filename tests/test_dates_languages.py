"""German, Spanish and French time expressions, all said on Monday 8 May 2023.

The language is not given: its words tell it.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from localmem.dates import LANGUAGES, describe, resolve

SAID_AT = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)

GERMAN = """
Heute war ich beim Arzt | Heute: 8 May 2023
Heute Abend gehen wir essen | Heute Abend: 8 May 2023
Gestern war ich im Kino | Gestern: 7 May 2023
Gestern Abend war ich im Kino | Gestern Abend: 7 May 2023
Vorgestern war ich im Kino | Vorgestern: 6 May 2023
Ich fahre morgen nach Köln | morgen: 9 May 2023
Übermorgen fahre ich nach Köln | Übermorgen: 10 May 2023
Guten Morgen zusammen | nothing
Das mache ich jeden Morgen | nothing
Vor drei Tagen habe ich angerufen | Vor drei Tagen: 5 May 2023
Vor 10 Tagen habe ich angerufen | Vor 10 Tagen: 28 April 2023
Vor zwei Wochen sind wir umgezogen | Vor zwei Wochen: 24 to 30 April 2023
Vor einem Jahr haben wir geheiratet | Vor einem Jahr: 2022
Vor einem halben Jahr habe ich gekündigt | Vor einem halben Jahr: November 2022
Vor ein paar Tagen war ich krank | Vor ein paar Tagen: 3 to 6 May 2023
In zwei Wochen fliege ich nach Rom | In zwei Wochen: 22 to 28 May 2023
Letzte Woche war ich krank | Letzte Woche: 1 to 7 May 2023
Nächste Woche bin ich im Urlaub | Nächste Woche: 15 to 21 May 2023
Vorletzte Woche war ich krank | Vorletzte Woche: 24 to 30 April 2023
Letztes Wochenende haben wir gezeltet | Letztes Wochenende: the weekend of 6 May 2023
Letzten Monat bin ich umgezogen | Letzten Monat: April 2023
Nächsten Monat ziehe ich um | Nächsten Monat: June 2023
Letztes Jahr war ich in Wien | Letztes Jahr: 2022
Ende letzten Monats war ich in Wien | Ende letzten Monats: 21 to 30 April 2023
Letzten Freitag habe ich ihn getroffen | Letzten Freitag: 5 May 2023
Am Freitag habe ich ihn getroffen | Freitag: 5 May 2023
Am Freitag werde ich ihn treffen | Freitag: 12 May 2023
Am Freitagabend waren wir im Kino | Freitagabend: 5 May 2023
Jeden Freitag gehe ich schwimmen | nothing
Im März war ich in Rom | März: March 2023
Im März 2021 war ich in Rom | März 2021: March 2021
Am 3. Oktober war ich in Rom | 3. Oktober: 3 October 2022
Am 3. Oktober 2021 war ich in Rom | 3. Oktober 2021: 3 October 2021
Die Rechnung vom 3.10.2022 ist bezahlt | 3.10.2022: 3 October 2022
Seit 2016 wohne ich in Berlin | Seit 2016: since 2016
Seit drei Jahren spiele ich Geige | Seit drei Jahren: since 2020
Letzten Sommer waren wir am Meer | Letzten Sommer: summer 2022
Die Musik aus den 90ern mag ich | den 90ern: the 1990s
An Weihnachten waren wir zu Hause | Weihnachten: 25 December 2022
"""

SPANISH = """
Hoy fui al médico | Hoy: 8 May 2023
Ayer fui al cine | Ayer: 7 May 2023
Ayer por la noche fui al cine | Ayer por la noche: 7 May 2023
Anoche no dormí nada | Anoche: 7 May 2023
Anteayer fui al cine | Anteayer: 6 May 2023
Mañana voy al médico | Mañana: 9 May 2023
Pasado mañana voy al médico | Pasado mañana: 10 May 2023
Trabajo por la mañana en casa | nothing
Hace tres días llamé a mi madre | Hace tres días: 5 May 2023
Hace 10 días llamé a mi madre | Hace 10 días: 28 April 2023
Hace dos semanas nos mudamos | Hace dos semanas: 24 to 30 April 2023
Hace un año nos casamos | Hace un año: 2022
Hace unos años vivía en Lima con mi hermano | Hace unos años: 2018 to 2021
Dentro de dos semanas nos mudamos | Dentro de dos semanas: 22 to 28 May 2023
La semana pasada estuve enfermo | La semana pasada: 1 to 7 May 2023
La próxima semana estoy de viaje | La próxima semana: 15 to 21 May 2023
La semana que viene estoy de viaje | La semana que viene: 15 to 21 May 2023
El fin de semana pasado fuimos a la playa | El fin de semana pasado: the weekend of 6 May 2023
El mes pasado me mudé de casa | El mes pasado: April 2023
El próximo mes me mudo de casa | El próximo mes: June 2023
El año pasado estuve en Lima | El año pasado: 2022
A finales del mes pasado estuve en Lima | A finales del mes pasado: 21 to 30 April 2023
El viernes pasado lo vi en la calle | El viernes pasado: 5 May 2023
El viernes fui al cine con mi hermana | El viernes: 5 May 2023
El viernes voy a ir al cine | El viernes: 12 May 2023
Los viernes voy al cine | nothing
En marzo fui a Roma con mi padre | marzo: March 2023
En marzo de 2021 fui a Roma | marzo de 2021: March 2021
El 3 de octubre fui a Roma | El 3 de octubre: 3 October 2022
El 3 de octubre de 2021 fui a Roma | El 3 de octubre de 2021: 3 October 2021
La factura del 3/10/2022 está pagada | 3/10/2022: 3 October 2022
Vivo aquí desde 2016 con mi hermano | desde 2016: since 2016
El verano pasado fuimos a la playa | El verano pasado: summer 2022
Me gusta la música de los años 90 | de los años 90: the 1990s
El otro día lo vi en la calle | El otro día: 1 to 7 May 2023
"""

FRENCH = """
Aujourd'hui je suis allé chez le médecin | Aujourd'hui: 8 May 2023
Ce soir nous allons au restaurant | Ce soir: 8 May 2023
Hier je suis allé au cinéma | Hier: 7 May 2023
Hier soir je suis allé au cinéma | Hier soir: 7 May 2023
Avant-hier je suis allé au cinéma | Avant-hier: 6 May 2023
Demain je vais au cinéma | Demain: 9 May 2023
Après-demain je vais au cinéma | Après-demain: 10 May 2023
Il y a trois jours j'ai appelé ma mère | Il y a trois jours: 5 May 2023
Il y a 10 jours j'ai appelé ma mère | Il y a 10 jours: 28 April 2023
Il y a deux semaines nous avons déménagé | Il y a deux semaines: 24 to 30 April 2023
Il y a un an nous avons déménagé | Il y a un an: 2022
Il y a quelques années nous avons déménagé | Il y a quelques années: 2018 to 2021
Il y a un an et demi nous avons déménagé | nothing
Dans deux semaines je pars pour Rome | Dans deux semaines: 22 to 28 May 2023
La semaine dernière j'étais malade | La semaine dernière: 1 to 7 May 2023
La semaine prochaine je suis en vacances | La semaine prochaine: 15 to 21 May 2023
Le week-end dernier nous avons campé | Le week-end dernier: the weekend of 6 May 2023
Ce week-end nous allons camper | Ce week-end: the weekend of 13 May 2023
Le mois dernier j'ai déménagé | Le mois dernier: April 2023
Le mois prochain je vais déménager | Le mois prochain: June 2023
L'année dernière j'étais à Rome | L'année dernière: 2022
Vendredi dernier je l'ai vu au marché | Vendredi dernier: 5 May 2023
Vendredi je suis allé au marché | Vendredi: 5 May 2023
Vendredi je vais aller au marché | Vendredi: 12 May 2023
Le vendredi je fais du sport avec ma sœur | nothing
En mars je suis allée à Rome | mars: March 2023
En mars 2021 je suis allée à Rome | mars 2021: March 2021
Le 3 octobre je suis allée à Rome | Le 3 octobre: 3 October 2022
Le 3 octobre 2021 je suis allée à Rome | Le 3 octobre 2021: 3 October 2021
La facture du 3/10/2022 est payée | 3/10/2022: 3 October 2022
J'habite ici depuis 2016 avec ma sœur | depuis 2016: since 2016
Je joue du violon depuis trois ans | depuis trois ans: since 2020
L'été dernier nous étions à la mer | L'été dernier: summer 2022
J'aime la musique des années 90 | des années 90: the 1990s
L'autre jour je l'ai vu au marché | L'autre jour: 1 to 7 May 2023
"""


def _cases(text: str) -> list[tuple[str, list[tuple[str, str]]]]:
    cases = []
    for line in text.strip().splitlines():
        said, expected = line.split(" | ")
        pairs = [] if expected == "nothing" else [expected.rsplit(": ", 1)]
        cases.append((said, [(words, meaning) for words, meaning in pairs]))
    return cases


@pytest.mark.parametrize(
    ("said", "expected"),
    _cases(GERMAN) + _cases(SPANISH) + _cases(FRENCH),
    ids=lambda one: str(one)[:40],
)
def test_an_expression_of_another_language_means_these_days(
    said: str, expected: list[tuple[str, str]]
) -> None:
    found = resolve(said, SAID_AT)

    assert [(one.words, describe(one)) for one in found] == expected


@pytest.mark.parametrize("table", [GERMAN, SPANISH, FRENCH])
def test_there_are_enough_cases_of_each_language(table: str) -> None:
    assert len(_cases(table)) >= 30


def test_a_language_that_is_named_is_not_guessed() -> None:
    assert resolve("morgen", SAID_AT, language="en") == ()
    assert len(resolve("morgen", SAID_AT, language="de")) == 1


def test_a_language_without_a_table_is_refused() -> None:
    with pytest.raises(ValueError, match="no date table for 'xx'"):
        resolve("yesterday", SAID_AT, language="xx")


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_table_compiles_and_knows_its_own_meanings(code: str) -> None:
    from localmem.dates.language import language_table
    from localmem.dates.named import NAMED
    from localmem.dates.relative import RELATIVE

    table = language_table(code)

    used = {rule.meaning for rules in table.rules_by_cue.values() for rule in rules}
    patterns = [rule.pattern for rules in table.rules_by_cue.values() for rule in rules]
    assert used <= {*NAMED, *RELATIVE, "nothing"}
    assert len(patterns) > 100


def test_a_slashed_date_goes_by_the_language_unless_only_the_other_order_is_a_date() -> None:
    (english,) = resolve("3/4/2023", SAID_AT, language="en")
    (german,) = resolve("3/4/2023", SAID_AT, language="de")
    (only,) = resolve("4/13/2023", SAID_AT, language="de")

    assert (english.start.month, english.start.day) == (3, 4)
    assert (german.start.month, german.start.day) == (4, 3)
    assert (only.start.month, only.start.day) == (4, 13)
