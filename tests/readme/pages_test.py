#!/usr/bin/env python3
"""Every check of pages.py accepts good pages and complains about bad ones."""

import unittest

import pages

PAGE = "# A page\n\nFor those who read it.\n"

# check: (pages that it must accept, list of pages that it must complain about once each)
CASES = {
    pages.links: (
        {"README.md": PAGE + "[a](core/README.md#words-and-a_rule), [code](core/a.h), [b](core/)\n"
                      "[c](#a-page), [d](core#words-and-a_rule-1), ![e](core/e%20f.svg)\n"
                      "[wide\ntext](core/a.h \"title\"), [far](https://example.org/x#y)\n"
                      "[![in](core/e%20f.svg)](core/a.h), [r][r]\n\n[r]: core/a.h\n\n"
                      "<img src=\"core/e%20f.svg\" alt=\"e\"> <a id=\"here\"></a> [f](#here)\n"
                      "`[no](link)`\n\n```cpp\n[&](int)\n# no heading\n```\n\n    [=](x)\n",
         "core/README.md": PAGE + "## Words, and `a_rule`\n## Words and a_rule!\n"
                           "[up](../README.md), [root](..)\n- a point\n\n    [its](a.h) text\n"},
        [{"README.md": PAGE + "[a](core/b.h)\n"},
         {"README.md": PAGE + "[a](core/a)\n"},
         {"README.md": PAGE + "[a](#words)\n"},
         {"README.md": PAGE + "```\n## Words\n```\n[a](#words)\n"},
         {"README.md": PAGE + "[a](core/README.md#words)\n", "core/README.md": PAGE},
         {"README.md": PAGE + "[a](core/a.h#L1)\n"},
         {"README.md": PAGE + "[a](../main/core/a.h)\n"},
         {"README.md": PAGE + "[a](/core/a.h)\n"},
         {"README.md": PAGE + "![a](core/none.svg)\n"},
         {"README.md": PAGE + "[![a](core/none.svg)](core/a.h)\n"},
         {"README.md": PAGE + "<img src=\"core/none.svg\" alt=\"a\">\n"},
         {"README.md": PAGE + "[wide\ntext](core/none.h)\n"},
         {"README.md": PAGE + "- a point\n\n    [its](none.h) text\n"},
         {"README.md": PAGE + "[r][r]\n\n[r]: core/none.h\n"},
         {"core/README.md": PAGE + "[a](core/a.h)\n"}]),
    pages.images_have_words: (
        {"README.md": PAGE + "![a ring](ring.svg)\n\n    ![](code.svg)\n"},
        [{"README.md": PAGE + "![](ring.svg)\n"},
         {"README.md": PAGE + "<img src=\"ring.svg\" width=\"3\">\n"}]),
    pages.beginnings: (
        {"README.md": PAGE + "```sh\n# a comment\n```\n", "core/README.md": "# A\n\n`b` is code.\n"},
        [{"README.md": "A page\n\nWithout a title.\n"},
         {"README.md": "## A page\n\nOf a lower kind.\n"},
         {"README.md": PAGE + "\n# Another\n"},
         {"README.md": "# A page\n"},
         {"README.md": "# A page\n\n## Part\n\nText.\n"},
         {"README.md": "# A page\n\n- a point\n"},
         {"README.md": "# A page\n\n```\ncode\n```\n"},
         {"README.md": "# A page\n\n| a | table |\n"},
         {"README.md": "# A page\n\n![ring](ring.svg)\n"}]),
    pages.lengths: (
        {"README.md": "a\n" * 260, "core/README.md": "a\n" * 250},
        [{"README.md": "a\n" * 261}, {"core/README.md": "a\n" * 251}]),
    pages.widths: (
        {"README.md": PAGE + "x" * 120 + "\n| " + "x" * 130 + " |\n\n    " + "x" * 130 + "\n\n```\n"
                      + "x" * 130 + "\n```\n[a](" + "x" * 130 + ") https://" + "x" * 130 + "\n"},
        [{"README.md": PAGE + "x" * 121 + "\n"},
         {"README.md": PAGE + "x" * 118 + " [a](b.h)\n"},
         {"README.md": PAGE + "- a point\n    " + "x" * 121 + "\n"}]),
    pages.index: (
        {"README.md": PAGE + "[a](core/README.md)\n", "core/README.md": PAGE},
        [{"README.md": PAGE + "[a](core/a.h)\n", "core/README.md": PAGE}]),
}

FILES = {"README.md", "core/README.md", "core/a.h", "core/e f.svg"}


class Mutation(unittest.TestCase):
    def test_every_check_has_a_case(self):
        self.assertEqual(set(CASES), set(pages.ALL))

    def test_good_is_accepted(self):
        for check, (good, _) in CASES.items():
            with self.subTest(check.__name__):
                self.assertEqual(list(check(good, FILES)), [])

    def test_bad_is_rejected(self):
        for check, (_, bad) in CASES.items():
            for text in bad:
                with self.subTest(check.__name__, pages=text):
                    self.assertEqual(len(list(check(text, FILES))), 1)

    def test_anchors_are_githubs(self):
        for heading, anchor in {
                "Use it from C++": "use-it-from-c",
                "What `rondo/nccl.h` adds": "what-rondoncclh-adds",
                "alpha, beta & gamma": "alpha-beta--gamma",
                "[Linked](a.md) part": "linked-part",
                "a_b - c": "a_b---c",
        }.items():
            self.assertEqual(pages.slug(heading), anchor)


if __name__ == "__main__":
    unittest.main()
