// Counts of a vitest report.
//   node count.mjs again <report>                       the files to run a second time, one a line
//   node count.mjs sum <report> <status> [<second>]     `passed failed`
// Skipped tests, files that could not be loaded, and a run that failed for another reason than its tests
// count as failed. With a second report, of the same files run alone, a test that failed counts by that one:
// a shared machine may stop a process for seconds while two others compete for it. Each is named, and is to be
// mended; more than a few in one run are no accident, and count as failed.
import { readFileSync } from 'node:fs';

const MOST_AGAIN = 3;

const [, , task, first, status, second] = process.argv;

function read(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).testResults;
  } catch {
    return null;
  }
}

const isBroken = (file) =>
  file.status === 'failed' && file.assertionResults.every((test) => test.status !== 'failed');
const hasFailed = (file) => isBroken(file) || file.assertionResults.some((test) => test.status === 'failed');

function sum() {
  const files = read(first);
  if (files === null) return [0, 1];
  const again = new Map((second === undefined ? [] : (read(second) ?? [])).map((file) => [file.name, file]));
  let [passed, failed, repaired] = [0, 0, 0];
  for (const file of files) {
    const repeated = hasFailed(file) ? again.get(file.name) : undefined;
    const counted = repeated ?? file;
    if (isBroken(counted)) {
      failed += 1;
      console.error(`-- cannot be run: ${file.name}`);
    }
    for (const test of counted.assertionResults) {
      if (test.status === 'passed') passed += 1;
      else failed += 1;
      if (test.status !== 'passed') console.error(`-- ${test.status}: ${file.name}: ${test.fullName}`);
    }
    if (repeated === undefined) continue;
    for (const test of file.assertionResults) {
      if (test.status !== 'failed') continue;
      repaired += 1;
      console.error(`-- failed at first: ${file.name}: ${test.fullName}`);
    }
  }
  if (repaired > MOST_AGAIN) failed = Math.max(failed, repaired);
  const told = files.some(hasFailed);
  return [passed, failed + (failed === 0 && !told && status !== '0' ? 1 : 0)];
}

if (task === 'again') {
  console.log(
    (read(first) ?? [])
      .filter(hasFailed)
      .map(({ name }) => name)
      .join('\n'),
  );
} else {
  console.log(sum().join(' '));
}
