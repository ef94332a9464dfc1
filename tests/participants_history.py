"""Forty changes in the lives of five invented people, as they tell of them in one group chat."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from localmem.types import ConversationKind, ImportedConversation, ImportedMessage, Role

START = datetime(2025, 1, 6, 9, tzinfo=UTC)
ASKED_AT = datetime(2026, 11, 30, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Change:
    """What somebody says first, what later, and what is to be answered then.

    `now`, `then` and `reason` are words of the right answers; `gone` changes end without a new
    value, so that `now` is what is over.
    """

    who: str
    first: str
    later: str
    asks_now: str
    asks_before: str
    now: str
    then: str
    asks_why: str = ""
    reason: str = ""
    gone: bool = False


def _home(who: str, old: str, new: str, first: str, later: str, reason: str) -> Change:
    return Change(
        who, first, later,
        f"Where does {who} live now?", f"Where did {who} live before?", new, old,
        f"Why did {who} move to {new}?", reason,
    )  # fmt: skip


def _price(who: str, thing: str, old: str, new: str, first: str, later: str, why: str) -> Change:
    return Change(
        who, first, later,
        f"How much is {who}'s {thing} now?", f"How much was {who}'s {thing} before?", new, old,
        f"Why did {who}'s {thing} change?" if why else "", why,
    )  # fmt: skip


def _plan(who: str, what: str, first: str, later: str, reason: str) -> Change:
    return Change(
        who, first, later,
        f"Is {who} still planning the {what}?", "", "no longer", what,
        f"Why did {who} cancel the {what}?", reason, gone=True,
    )  # fmt: skip


CHANGES = (
    # Homes
    _home("Ada", "Turin", "Ghent", "I live in Turin, near the river.",
          "Big news: I moved to Ghent last week because my grandmother is ill.",
          "grandmother is ill"),
    _home("Bruno", "Basel", "Lagos", "I'm based in Basel these days.",
          "I relocated to Lagos. The reason is that my studio got a grant there.",
          "studio got a grant"),
    _home("Chiara", "Nantes", "Bergen", "We live in Nantes with two noisy neighbours.",
          "The flat in Nantes was too damp, so we moved to Bergen.", "too damp"),
    _home("Dov", "Haifa", "Porto", "I've been living in Haifa since 2019.",
          "I've moved from Haifa to Porto since the sea helps my asthma.", "asthma"),
    _home("Elif", "Izmir", "Leeds", "My home is in Izmir.",
          "I just moved to Leeds, because I start my doctorate here.", "doctorate"),
    # Employers
    Change("Ada", "I work at Quillmark as a translator.",
           "I quit my job at Quillmark because of the night shifts, and I joined Fernhill.",
           "Where does Ada work now?", "Where did Ada work before?", "Fernhill", "Quillmark",
           "Why did Ada leave Quillmark?", "night shifts"),
    Change("Bruno", "I'm working for Oakline at the moment.",
           "I got a new job at Tidewater since Oakline closed its office.",
           "Who does Bruno work for now?", "Who did Bruno work for before?", "Tidewater", "Oakline",
           "Why did Bruno leave Oakline?", "closed its office"),
    Change("Chiara", "I work for Marlowe Press.",
           "I switched jobs to Candela Books, because they pay for my training.",
           "What company does Chiara work for now?", "What was Chiara's previous employer?",
           "Candela Books", "Marlowe Press", "Why did Chiara switch to Candela Books?", "training"),
    # Jobs
    Change("Dov", "I work as a baker in a small shop.",
           "I retrained as a beekeeper because the flour made me cough.",
           "What is Dov's job now?", "What was Dov's job before?", "beekeeper", "baker",
           "Why did Dov change his job?", "flour"),
    Change("Elif", "I'm a nurse on a children's ward.",
           "I became a midwife, because I wanted happier mornings.",
           "What does Elif do for a living now?", "What was Elif's previous job?",
           "midwife", "nurse", "Why did Elif become a midwife?", "happier mornings"),
    Change("Ada", "By the way, my job title is junior editor.",
           "I got promoted to senior editor because my boss retired.",
           "What is Ada's job title now?", "What was Ada's job title before?",
           "senior editor", "junior editor", "Why was Ada's job title changed?", "boss retired"),
    # Prices
    _price("Ada", "rent", "640", "715", "My rent is 640 euros.",
           "My rent went up to 715 euros because the landlord put in new windows.", "new windows"),
    _price("Bruno", "gym membership", "30", "45", "My gym membership costs $30 a month.",
           "My gym membership is now $45, since they built a pool.", "pool"),
    _price("Chiara", "phone bill", "18", "12", "My phone bill is 18 euros.",
           "My phone bill dropped to 12 euros because I changed the plan.", "changed the plan"),
    _price("Dov", "parking spot", "80", "95", "I pay 80 euros for the parking spot.",
           "The parking spot went up, I now pay 95 euros for the parking spot.", ""),
    _price("Elif", "bus pass", "£50", "£62", "My bus pass is £50.",
           "My bus pass was raised from £50 to £62 due to fuel costs.", "fuel costs"),
    _price("Dov", "salary", "2,400", "2,750", "My salary is 2,400 euros.",
           "My salary was raised to 2,750 euros because I work Sundays.", "Sundays"),
    _price("Bruno", "cello lessons", "25", "32", "My cello lessons cost 25 dollars.",
           "My cello lessons are 32 dollars now because the teacher rents a room.", "rents a room"),
    _price("Chiara", "train ticket", "9", "11", "My train ticket costs 9 euros.",
           "My train ticket is 11 euros now.", ""),
    # Preferences
    Change("Ada", "I prefer tea over coffee.",
           "I prefer coffee over tea now, because I sleep badly.",
           "Does Ada prefer tea or coffee now?", "What did Ada prefer before?",
           "coffee over tea", "tea over coffee",
           "Why does Ada prefer coffee over tea?", "sleep badly"),
    Change("Bruno", "My favourite band is The Tin Herons.",
           "My favourite band is now Salt Avenue because of their drummer.",
           "What is Bruno's favourite band now?", "What was Bruno's favourite band before?",
           "Salt Avenue", "Tin Herons", "Why did Bruno's favourite band change?", "drummer"),
    Change("Chiara", "I love swimming in the lake.",
           "I no longer like swimming in the lake because of the algae.",
           "Does Chiara like swimming in the lake?", "", "no longer", "swimming",
           "Why did Chiara stop liking swimming in the lake?", "algae", gone=True),
    Change("Dov", "I really like chess.", "I don't like chess anymore since I lost every game.",
           "Does Dov like chess now?", "", "no longer", "chess",
           "Why does Dov no longer like chess?", "lost every game", gone=True),
    Change("Elif", "My favourite dish is lentil soup.",
           "My favourite dish is now fried okra, because my flatmate taught me.",
           "What is Elif's favourite dish now?", "What was Elif's favourite dish before?",
           "fried okra", "lentil soup", "Why did Elif's favourite dish change?", "flatmate"),
    Change("Ada", "I use Paperkite for my notes.",
           "I switched from Paperkite to Slatebook for my notes because it syncs.",
           "What does Ada use for her notes now?", "What did Ada use for her notes before?",
           "Slatebook", "Paperkite", "Why did Ada switch to Slatebook for her notes?", "syncs"),
    Change("Bruno", "I'm vegetarian.", "I went vegan because of a film about dairies.",
           "What is Bruno's diet now?", "What was Bruno's diet before?", "vegan", "vegetarian",
           "Why did Bruno change his diet?", "dairies"),
    # Plans that fell through
    _plan("Ada", "trip to Malta", "We're planning a trip to Malta in June.",
          "We had to cancel the trip to Malta because the ferry line went bankrupt.", "bankrupt"),
    _plan("Bruno", "garden party", "I'm planning a garden party for my birthday.",
          "I called off the garden party because of the storm.", "storm"),
    _plan("Chiara", "concert in Graz", "I'm planning a concert in Graz.",
          "The concert in Graz is off because the singer lost her voice.", "lost her voice"),
    _plan("Dov", "boat course", "I plan to take a boat course.",
          "I cancelled the boat course, because my knee hurts.", "knee hurts"),
    _plan("Elif", "camping weekend", "I'm planning a camping weekend.",
          "The camping weekend fell through because nobody had a tent.", "tent"),
    # Other things
    Change("Ada", "My deadline is 5 June.",
           "My deadline was moved to 19 June because the printer broke.",
           "What is Ada's deadline now?", "What was Ada's deadline before?", "19 June", "5 June",
           "Why was Ada's deadline moved?", "printer broke"),
    Change("Bruno", "My phone number is 555-0134.",
           "My new phone number is 555-0177 because I lost the old one.",
           "What is Bruno's phone number now?", "What was Bruno's old phone number?",
           "555-0177", "555-0134", "Why did Bruno's phone number change?", "lost the old one"),
    Change("Chiara", "I drive a Corvan Mini.",
           "My new car is a Velar Six, because the Corvan rusted.",
           "What car does Chiara drive now?", "What car did Chiara drive before?",
           "Velar Six", "Corvan Mini", "Why did Chiara change her car?", "rusted"),
    Change("Dov", "My dentist is Dr. Halvorsen.",
           "My dentist is now Dr. Okoro because Halvorsen retired.",
           "Who is Dov's dentist now?", "Who was Dov's dentist before?", "Okoro", "Halvorsen",
           "Why did Dov change his dentist?", "retired"),
    Change("Elif", "I study geology.",
           "I changed my major from geology to hydrology because of a field trip.",
           "What is Elif's major now?", "What was Elif's major before?", "hydrology", "geology",
           "Why did Elif change her major?", "field trip"),
    Change("Elif", "My meeting with Rosa is on Monday.",
           "My meeting with Rosa was moved from Monday to Thursday because she has a cold.",
           "When is Elif's meeting with Rosa now?", "When was Elif's meeting with Rosa before?",
           "Thursday", "Monday", "Why was Elif's meeting with Rosa moved?", "has a cold"),
    Change("Dov", "I'm dating Mirela.", "Mirela and I broke up because she moved abroad.",
           "Is Dov still dating Mirela?", "", "no longer", "Mirela",
           "Why did Dov and Mirela break up?", "moved abroad", gone=True),
    Change("Chiara", "My project budget is $5,000.",
           "My project budget was increased to $6,500 because a sponsor joined.",
           "What is Chiara's project budget now?", "What was Chiara's project budget before?",
           "6,500", "5,000", "Why was Chiara's project budget increased?", "sponsor"),
    Change("Bruno", "I play the oboe.", "I stopped playing the oboe because it hurt my jaw.",
           "Does Bruno still play the oboe?", "", "no longer", "oboe",
           "Why did Bruno stop playing the oboe?", "jaw", gone=True),
)  # fmt: skip


def messages() -> list[ImportedMessage]:
    """Both halves of every change with small talk between, half a year and more apart."""
    said = []
    for n, change in enumerate(CHANGES):
        said.append((change.who, change.first, START + timedelta(days=n)))
        said.append((change.who, change.later, START + timedelta(days=300 + 3 * n)))
        said.append(
            ("Gil", f"Nice to hear from you, {change.who}!", START + timedelta(days=n, hours=1))
        )
    said.sort(key=lambda one: one[2])
    return [
        ImportedMessage(str(n), Role.USER, who, text, when)
        for n, (who, text, when) in enumerate(said)
    ]


def as_conversations(chosen: list[ImportedMessage]) -> list[ImportedConversation]:
    """Each message a conversation of its own, so that they may come in any order."""
    return [
        ImportedConversation("test", one.source_id, "", ConversationKind.PEOPLE, (one,))
        for one in chosen
    ]
