/** Prints the cases of the fault table with what they measured, after all tests have run. */
import type { Reporter, TestCase, TestModule } from 'vitest/node';
import type { FaultRecord } from './fault-case.ts';

export class FaultTableReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const cases = modules
      .flatMap((module) => [...module.children.allTests()])
      .flatMap((test) => rowOf(test))
      .sort((a, b) => a.row - b.row || a.express.localeCompare(b.express));
    if (cases.length === 0) return;
    process.stdout.write(`\n${HEAD}\n${cases.map(lineOf).join('\n')}\n`);
    const rows = new Set(cases.map(({ row }) => row)).size;
    process.stdout.write(`${cases.length} cases of ${rows} rows\n\n`);
  }
}

type Row = FaultRecord & { readonly passed: boolean };

function rowOf(test: TestCase): Row[] {
  const { fault } = test.meta();
  return fault === undefined ? [] : [{ ...fault, passed: test.ok() }];
}

const HEAD = 'row  express    result  status           slowest  canary p99  bare p99  case';

function lineOf(one: Row): string {
  const { row, express, passed, slowestMs, canaryP99, bareP99, title, figures } = one;
  const statuses = [...new Set(one.statuses)].join(' ');
  const more = Object.entries(figures).map(([name, value]) => `${name} ${value}`);
  return [
    String(row).padStart(3),
    express.padEnd(9),
    (passed ? 'ok' : 'FAILED').padEnd(6),
    statuses.padEnd(15),
    (statuses === '' ? '' : `${Math.round(slowestMs)} ms`).padStart(8),
    (canaryP99 === null ? '' : `${canaryP99.toFixed(1)} ms`).padStart(10),
    (bareP99 === null ? '' : `${bareP99.toFixed(1)} ms`).padStart(8),
    [title, ...more].join('; '),
  ].join('  ');
}
