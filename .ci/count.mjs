// Counts of a vitest report.
//   node count.mjs again <report>                       the files with failed tests, one a line
//   node count.mjs sum <report> <status> [<second>]     `passed failed`, then a line `file: title` per flaky test
// Skipped tests, files that could not be loaded, and a run that failed for another reason than its tests
// count as failed. <second> reports the same files run once more: what failed at first and passes there
// counts as passed, and is flaky.
import { readFileSync } from 'node:fs';

const [, , task, first, status, second] = process.argv;

function read(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).testResults;
  } catch {
    return null;
  }
}

const pathOf = ({ name }) => name.replace(/^.*\/(?=test\/)/, '');
const hasFailed = (file) =>
  file.status === 'failed' || file.assertionResults.some((test) => test.status === 'failed');

/** Each test of a report by its file and title, with its status; a file that failed as a whole is one, too. */
function outcomesOf(files) {
  const outcomes = new Map();
  for (const file of files) {
    const titles = file.assertionResults.map((test) => [test.fullName, test.status]);
    const isBroken = file.status === 'failed' && titles.every(([, outcome]) => outcome !== 'failed');
    for (const [title, outcome] of titles) outcomes.set(`${pathOf(file)}: ${title}`, outcome);
    if (isBroken) outcomes.set(`${pathOf(file)}: (the file)`, 'failed');
  }
  return outcomes;
}

function sum() {
  const files = read(first);
  if (files === null) return { passed: 0, failed: 1, flaky: [] };
  const repeated = (second === undefined ? null : read(second)) ?? [];
  const again = outcomesOf(repeated);
  const ran = new Set(repeated.map(pathOf));
  const flaky = [];
  let [passed, failed, isExplained] = [0, 0, false];
  const outcomes = outcomesOf(files);
  for (const [name, outcome] of outcomes) {
    const isWhole = name.endsWith(': (the file)');
    const later =
      again.get(name) ?? (isWhole && ran.has(name.slice(0, name.indexOf(': '))) ? 'passed' : undefined);
    isExplained ||= outcome === 'failed';
    if (outcome === 'failed' && later === 'passed') flaky.push(name);
    if (outcome === 'passed' || (outcome === 'failed' && later === 'passed')) {
      passed += isWhole ? 0 : 1;
      continue;
    }
    failed += 1;
    console.error(`-- ${outcome}: ${name}`);
  }
  // Tests of a file that could not be loaded at first are known from its second run alone.
  for (const [name, outcome] of again) {
    if (outcomes.has(name)) continue;
    if (outcome === 'passed') passed += 1;
    else failed += 1;
  }
  if (failed === 0 && !isExplained && status !== '0') failed = 1;
  return { passed, failed, flaky };
}

if (task === 'again') {
  console.log((read(first) ?? []).filter(hasFailed).map(pathOf).join('\n'));
} else {
  const { passed, failed, flaky } = sum();
  console.log([`${passed} ${failed}`, ...flaky].join('\n'));
}
