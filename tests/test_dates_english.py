"""English time expressions, one case a line, all said on Monday 8 May 2023 at 13:56."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from localmem.dates import describe, resolve

SAID_AT = datetime(2023, 5, 8, 13, 56, tzinfo=timezone(timedelta(hours=2)))

CASES = """
I saw her today. | today: 8 May 2023
We are eating out tonight | tonight: 8 May 2023
This morning I ran | This morning: 8 May 2023
I went there yesterday and loved it | yesterday: 7 May 2023
Yesterday evening it rained | Yesterday evening: 7 May 2023
I slept badly last night | last night: 7 May 2023
See you tomorrow! | tomorrow: 9 May 2023
He called the day before yesterday | the day before yesterday: 6 May 2023
She lands the day after tomorrow | the day after tomorrow: 10 May 2023
We met the other day | the other day: 1 to 7 May 2023
I called three days ago | three days ago: 5 May 2023
I called 10 days ago | 10 days ago: 28 April 2023
It broke two weeks ago | two weeks ago: 24 to 30 April 2023
It broke a week ago | a week ago: 1 to 7 May 2023
I left six months ago | six months ago: November 2022
I left a month ago | a month ago: April 2023
We met a year ago | a year ago: 2022
We met twenty years ago | twenty years ago: 2003
Half a year ago I quit | Half a year ago: November 2022
I ran a couple of days ago | a couple of days ago: 5 to 6 May 2023
I ran a couple of weeks ago | a couple of weeks ago: 17 to 30 April 2023
I was there a few years ago | a few years ago: 2018 to 2021
I was there several months ago | several months ago: October 2022 to February 2023
Two or three days ago it snowed | Two or three days ago: 5 to 6 May 2023
A week or two ago it snowed | A week or two ago: 1 to 7 May 2023
I was there three years back. | three years back: 2020
I ate two hours ago | two hours ago: 8 May 2023
I ate 20 hours ago | 20 hours ago: 7 May 2023
More than a year ago I stopped | nothing
A year and a half ago I stopped | nothing
He is two years old | nothing
I'll be back in three days | in three days: 11 May 2023
We are flying in two weeks | in two weeks: 22 to 28 May 2023
I will visit in a couple of months | in a couple of months: July to August 2023
She leaves a week from now | a week from now: 15 to 21 May 2023
See you in a week's time | in a week's time: 15 to 21 May 2023
I lost 5 kilos in two weeks | nothing
You can see it all in one day | nothing
Last week was hard | Last week: 1 to 7 May 2023
I am off this week | this week: 8 to 14 May 2023
Next week we move | Next week: 15 to 21 May 2023
It was the week before last | the week before last: 24 to 30 April 2023
We leave the week after next | the week after next: 22 to 28 May 2023
We were there the week before. | the week before: 1 to 7 May 2023
We were there the weekend before | the weekend before: the weekend of 6 May 2023
Last weekend we camped | Last weekend: the weekend of 6 May 2023
This weekend we are camping | This weekend: the weekend of 13 May 2023
This weekend we went camping | This weekend: the weekend of 6 May 2023
The fair this past weekend was fun | this past weekend: the weekend of 6 May 2023
Next weekend we camp | Next weekend: the weekend of 20 May 2023
Two weekends ago we camped | Two weekends ago: the weekend of 29 April 2023
Last month I moved | Last month: April 2023
I moved this month | this month: May 2023
I move next month | next month: June 2023
I rebuilt the shed last year | last year: 2022
The year before last I graduated | The year before last: 2021
This year I read more | This year: 2023
Next year I graduate | Next year: 2024
The last year of college was hard | nothing
The last week of school was fun | nothing
Last Saturday I ran a race | Last Saturday: 6 May 2023
Last Monday I ran a race | Last Monday: 1 May 2023
Last Fri I sold my bike | Last Fri: 5 May 2023
This Friday we dance | This Friday: 12 May 2023
This coming Friday we dance | This coming Friday: 12 May 2023
Next Friday we dance | Next Friday: 19 May 2023
On Friday we went dancing | Friday: 5 May 2023
On Friday we will go dancing | Friday: 12 May 2023
I have to finish by Thursday | Thursday: 11 May 2023
Friday night we went dancing | Friday night: 5 May 2023
Tuesday of last week I called | Tuesday of last week: 2 May 2023
I called on Tuesday last week | Tuesday last week: 2 May 2023
Two Fridays ago I called | Two Fridays ago: 28 April 2023
I repaired it Thursday. | Thursday: 4 May 2023
It's due Friday | Friday: 12 May 2023
The report is due in 3 months | in 3 months: August 2023
I missed two runs in March due to work | March: March 2023
We worked Monday through Friday. | nothing
We talked about Friday. | nothing
They opened on Black Friday. | nothing
Every Friday we go dancing | nothing
My favourite day is Friday | nothing
We always met on Friday | nothing
I moved in March | March: March 2023
I'll move in March | March: March 2024
It rains a lot in March | nothing
Last March I moved | Last March: March 2023
Last June I moved | Last June: June 2022
Next June I marry | Next June: June 2023
Early next month we marry | Early next month: 1 to 10 June 2023
It ended at the end of last month | the end of last month: 21 to 30 April 2023
It ended early last year | early last year: January to April 2022
Earlier this year I moved | Earlier this year: 1 January to 8 May 2023
Later this month I move | Later this month: 8 to 31 May 2023
Last summer we sailed | Last summer: summer 2022
This summer we sail | This summer: summer 2023
Next spring we sail | Next spring: spring 2024
We sailed in the summer of 2019 | the summer of 2019: summer 2019
Last winter it snowed | Last winter: winter 2022/23
Winter 2021 was mild | Winter 2021: winter 2021/22
Since my last fall I limp | nothing
I read 3 books over the past three months | the past three months: 8 February to 8 May 2023
In the last week I slept little | the last week: 1 to 8 May 2023
The next two weeks will be hard | The next two weeks: 8 to 22 May 2023
He paid on March 3rd | March 3rd: 3 March 2023
He paid on November 3rd | November 3rd: 3 November 2022
He will pay on March 3rd | March 3rd: 3 March 2024
We decided to meet on 20 July | 20 July: 20 July 2023
He paid on 20 November | 20 November: 20 November 2022
The wedding: June 10 | June 10: 10 June 2023
I was born on March 3rd | nothing
He paid on March 3rd, 2021 | March 3rd, 2021: 3 March 2021
He paid on Friday, March 3, 2023 | Friday, March 3, 2023: 3 March 2023
He paid on 3 March 2022 | 3 March 2022: 3 March 2022
He paid on the 3rd of March 2022 | the 3rd of March 2022: 3 March 2022
He paid in March 2022 | March 2022: March 2022
He paid in March of 2022. | March of 2022: March 2022
Paid Sept. 2021 | Sept. 2021: September 2021
Due 2022-03-03 | 2022-03-03: 3 March 2022
Paid 2022-03-05T10:00:00Z | 2022-03-05T10:00:00Z: 5 March 2022
Due 3/4/2023 | 3/4/2023: 4 March 2023
Due 13/4/2023 | 13/4/2023: 13 April 2023
We were away March 3-5 | March 3-5: 3 to 5 March 2023
From Jan 16 - Feb 15, 2024 I rest | Jan 16 - Feb 15, 2024: 16 January to 15 February 2024
It happened on the 15th | the 15th: 15 April 2023
It will happen on the 15th | the 15th: 15 May 2023
It broke on the 3rd of last month | the 3rd of last month: 3 April 2023
We live on the 15th floor | nothing
In 2019 I moved | 2019: 2019
I moved in late 2019 | late 2019: September to December 2019
I lived there from 2015 to 2018 | from 2015 to 2018: 2015 to 2018
I have lived here since 2016 | since 2016: since 2016
I have lived here since March 2020 | since March 2020: since March 2020
I have been ill since last Monday | since last Monday: since 1 May 2023
I've known her for three years | for three years: since 2020
Seven years now, and I still row | Seven years: since 2016
I have been to Paris for 3 days | nothing
I love music from the 90s | the 90s: the 1990s
The early 1980s were loud | The early 1980s: January 1980 to April 1983
It was loud in the eighties | the eighties: the 1980s
She is in her mid 30s | nothing
The temperature was in the 70s | nothing
Last Christmas we skied | Last Christmas: 25 December 2022
We got it for Christmas | Christmas: 25 December 2022
We ate turkey at Thanksgiving | Thanksgiving: 24 November 2022
On Halloween we will dance | Halloween: 31 October 2023
Easter 2024 is early | Easter 2024: 31 March 2024
He proposed on Valentine's Day | Valentine's Day: 14 February 2023
We buy a Christmas tree | nothing
You may march on for a second | nothing
She sat in the sun | nothing
Python 2.7.2019 costs $2019 | nothing
Call 555-2019-03-03 or 020 7946 2022 | nothing
It took 2019 steps in 2000 words | nothing
Version 1.2.3 on port 8080 | nothing
It may be 3 times as long | nothing
May I come? | nothing
A long march 10 miles north | nothing
Today's society is loud | nothing
The next day it rained | nothing
February 30th was odd | nothing
"""


def _cases(text: str) -> list[tuple[str, list[tuple[str, str]]]]:
    cases = []
    for line in text.strip().splitlines():
        said, expected = line.split(" | ")
        pairs = (
            [] if expected == "nothing" else [one.rsplit(": ", 1) for one in expected.split("; ")]
        )
        cases.append((said, [(words, meaning) for words, meaning in pairs]))
    return cases


@pytest.mark.parametrize(("said", "expected"), _cases(CASES), ids=lambda one: str(one)[:40])
def test_an_english_expression_means_these_days(said: str, expected: list[tuple[str, str]]) -> None:
    found = resolve(said, SAID_AT)

    assert [(one.words, describe(one)) for one in found] == expected


def test_there_are_enough_english_cases() -> None:
    assert len(_cases(CASES)) >= 120
