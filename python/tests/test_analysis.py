"""Reports of the command as objects."""

import unittest

import heddle

SOURCE = "kernel void f(global int *x) { size_t i = get_global_id(0); if (x[i] > 3) x[i] = 0; }"


@unittest.skipUnless(heddle.command_path().exists(), "the command is not there: HEDDLE_COMMAND")
class AnalysisTest(unittest.TestCase):
    def test_analysis_is_text_data_and_html(self):
        found = heddle.analyze(SOURCE)
        self.assertIn("f", str(found))
        self.assertTrue(found.data)
        self.assertIn("<details", found._repr_html_())

    def test_profiles_count(self):
        source = "kernel void f(global int *x) { if (get_local_id(0) > 3) x[0] = 1; }"
        found = heddle.profile(source, "--local", "8", "--mem", "x: i32 zero 8", "--arg", "&x")
        self.assertTrue(found.data)

    def test_mistakes_have_their_log(self):
        with self.assertRaises(heddle.BuildError):
            heddle.analyze("kernel void f( {")


if __name__ == "__main__":
    unittest.main()
