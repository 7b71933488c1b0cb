// Counts the tests of a run, from what test/count-reporter.ts has written.
//   node count.mjs again <report>
//     The files with failed tests, one a line.
//   node count.mjs sum <report> <status> <at least> [<second report> <second status>]
//     `passed failed`, then a line `file: title` for each flaky test. The second report is of the files with failed
//     tests, run once more: a test that fails first and passes there has passed, and is flaky.
// Each of these is a failure: a test that was skipped, a file that could not be loaded, an error outside of tests, an exit
// status that no failed test explains, fewer tests than there have to be, and what passes first and fails in the second run.
import { readFileSync } from 'node:fs';

const [, , task, first, status, atLeast, second, secondStatus] = process.argv;

function read(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}

/** Each test by its file and title, with its outcome. Equal titles of a file are numbered. */
function outcomesOf({ files }) {
  const outcomes = new Map();
  for (const { path, hasFailed, tests } of files) {
    for (const { title, outcome } of tests) {
      let name = `${path}: ${title}`;
      for (let number = 2; outcomes.has(name); number += 1) name = `${path}: ${title} (${number})`;
      outcomes.set(name, outcome);
    }
    const isExplained = tests.some(({ outcome }) => outcome === 'failed');
    if (hasFailed && !isExplained) outcomes.set(`${path}: (the file)`, 'failed');
  }
  return outcomes;
}

/** What failed without being a test: errors outside of tests, and an exit status that no failed test explains. */
function strayFailures(report, exit, outcomes) {
  const hasFailed = [...outcomes.values()].includes('failed');
  const errors = report.errors.map((message) => `an error outside of tests: ${message}`);
  const isExplained = exit === '0' || (exit === '1' && (hasFailed || errors.length > 0));
  return isExplained ? errors : [...errors, `the run ended with ${exit}`];
}

function sum() {
  const report = read(first);
  if (report === null) return { passed: 0, failures: [`no report: the run ended with ${status}`], flaky: [] };
  const outcomes = outcomesOf(report);
  const failures = strayFailures(report, status, outcomes);
  const repeated = second === undefined ? null : read(second);
  const again = repeated === null ? new Map() : outcomesOf(repeated);
  if (repeated !== null) failures.push(...strayFailures(repeated, secondStatus, again));
  const flaky = [];
  let passed = 0;
  for (const [name, outcome] of outcomes) {
    // A file that could not be loaded has no test of that name once it can.
    const isFile = name.endsWith(': (the file)');
    const wasRepeated = repeated?.files.some(({ path }) => name === `${path}: (the file)`);
    const later = again.get(name) ?? (isFile && wasRepeated ? 'passed' : undefined);
    const worst = outcome === 'failed' ? (later ?? outcome) : later === 'failed' ? later : outcome;
    if (outcome === 'failed' && worst === 'passed') flaky.push(name);
    if (worst !== 'passed') failures.push(`${worst}: ${name}`);
    else if (!isFile) passed += 1;
  }
  for (const [name, outcome] of again) {
    if (outcomes.has(name)) continue;
    if (outcome === 'passed') passed += 1;
    else failures.push(`${outcome}: ${name}`);
  }
  if (passed < Number(atLeast)) failures.push(`only ${passed} tests passed, of at least ${atLeast}`);
  return { passed, failures, flaky };
}

if (task === 'again') {
  const files = (read(first)?.files ?? []).filter(
    ({ hasFailed, tests }) => hasFailed || tests.some(({ outcome }) => outcome === 'failed'),
  );
  console.log(files.map(({ path }) => path).join('\n'));
} else {
  const { passed, failures, flaky } = sum();
  for (const failure of failures) console.error(`-- ${failure}`);
  console.log([`${passed} ${failures.length}`, ...flaky].join('\n'));
}
