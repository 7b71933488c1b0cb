/**
 * Runs one case of the fault table: a host with the monitor in it, a route of its own that has to go on answering
 * meanwhile, and a process that is afterwards as before.
 */
import { expect, it, onTestFinished } from 'vitest';
import type { MonitorOptions } from '../../../src/index.ts';
import type { Answer, AskOptions } from '../../helpers/ask.ts';
import { EXPRESS_MAJORS, type ExpressMajor } from '../../helpers/hosts.ts';
import { titleUnless } from '../../helpers/redis-server.ts';
import { type Host, type HostOptions, serve } from '../../router/host-kit.ts';
import { pollCanary } from './canary.ts';
import { watchProcess } from './process-watch.ts';

/** What a case is run with. Whatever it opens is closed by `onTestFinished`. */
export interface FaultBench {
  readonly express: ExpressMajor;
  /** Serves the monitor until the case is over; the host's own route is polled from now on. */
  serve(options: MonitorOptions, host?: HostOptions): Promise<Host>;
  /** Polls the host's own route of another process from now on. @param url of the host */
  watch(url: string): void;
  /** Asks the monitor, and fails when the answer is another or comes far too late. */
  expectAnswer<Body = unknown>(
    host: Pick<Host, 'get'>,
    path: string,
    expected: ExpectedAnswer,
  ): Promise<Answer<Body>>;
  /** A figure for the table: `figure('source calls', 3)`. */
  figure(name: string, value: number | string): void;
}

/** What an answer has to be. */
export interface ExpectedAnswer {
  readonly status: number | readonly number[];
  /** The problem's `code`. Default: not looked at. */
  readonly code?: string | readonly string[];
  /**
   * How soon it should come, in milliseconds. It fails at ten times that, and never before ten seconds, since
   * a machine may be slow; the table shows what it took. Default 1,000.
   */
  readonly aimMs?: number;
  readonly options?: AskOptions;
}

/** What is told of a case beside whether it passed; the reporter makes the table of it. */
export interface FaultRecord {
  readonly row: number;
  readonly title: string;
  readonly express: string;
  readonly statuses: number[];
  /** Of the slowest answer, in milliseconds. */
  slowestMs: number;
  /** Of the whole case, in milliseconds. */
  totalMs: number;
  /** Of the host's own route, in milliseconds, and of a bare route that was asked in turns with it. */
  canaryP99: number | null;
  bareP99: number | null;
  readonly figures: Record<string, number | string>;
}

declare module 'vitest' {
  interface TaskMeta {
    fault?: FaultRecord;
  }
}

/** How to run a case. */
export interface FaultCaseOptions {
  /** What it needs and this machine has not, as `redisMissing` says it; the case is then skipped. */
  readonly missing?: string | null;
  /** In milliseconds. Default 120,000: machines may be slow. */
  readonly timeout?: number;
  /** Runs it on every version of Express: requests, middleware and errors pass through it. Default: on the latest. */
  readonly everyExpress?: boolean;
}

/**
 * One case of a row.
 *
 * @param row of the fault table: 1 to 95; what is missing there is proven by `npm test`
 * @param title a sentence; the test's title is `row <row>: <title>`, and `, on Express <n>` if it runs on each
 */
export function faultCase(
  row: number,
  title: string,
  run: (bench: FaultBench) => Promise<void>,
  { missing = null, timeout = 120_000, everyExpress = false }: FaultCaseOptions = {},
): void {
  for (const express of everyExpress ? EXPRESS_MAJORS : EXPRESS_MAJORS.slice(-1)) {
    const version = everyExpress ? `, on ${express.name}` : '';
    const name = titleUnless(missing, `row ${row}: ${title}${version}`);
    it.skipIf(missing !== null)(name, { timeout }, async ({ task }) => {
      const record: FaultRecord = {
        row,
        title,
        express: express.name,
        statuses: [],
        slowestMs: 0,
        totalMs: 0,
        canaryP99: null,
        bareP99: null,
        figures: {},
      };
      task.meta.fault = record;
      const watch = watchProcess();
      // The first to be registered is the last to be called: when all that the case opened is closed.
      onTestFinished(() => watch.settled());
      const start = performance.now();
      await run(benchOf(express, record));
      record.totalMs = performance.now() - start;
    });
  }
}

/** One case of a row on every version of Express: its requests, middleware or errors pass through that. */
export const expressCase: typeof faultCase = (row, title, run, options) =>
  faultCase(row, title, run, { ...options, everyExpress: true });

function benchOf(express: ExpressMajor, record: FaultRecord): FaultBench {
  function watch(url: string): void {
    const stop = pollCanary(url);
    onTestFinished(async () => {
      const { asked, failures, p99, bareP99 } = await stop();
      record.canaryP99 = Math.max(record.canaryP99 ?? 0, p99);
      record.bareP99 = Math.max(record.bareP99 ?? 0, bareP99);
      expect(failures).toEqual([]);
      expect(asked).toBeGreaterThan(0);
    });
  }
  return {
    express,
    watch,
    async serve(options, hostOptions) {
      // What hangs is to be answered in time, as by a router without options.
      const host = await serve(express, { timeoutMs: 5_000, ...options }, hostOptions);
      watch(host.url);
      return host;
    },
    async expectAnswer<Body>(
      { get }: Pick<Host, 'get'>,
      path: string,
      { status, code, aimMs = 1_000, options }: ExpectedAnswer,
    ) {
      const start = performance.now();
      const answer = await get<Body>(path, options);
      const ms = performance.now() - start;
      record.statuses.push(answer.status);
      record.slowestMs = Math.max(record.slowestMs, ms);
      const said = `${path} answered ${answer.status} ${answer.text.slice(0, 300)}`;
      expect([status].flat(), said).toContain(answer.status);
      if (code !== undefined) expect([code].flat(), said).toContain(problemCode(answer));
      expect(ms, `${path} took ${Math.round(ms)} ms`).toBeLessThan(Math.max(10 * aimMs, 10_000));
      return answer;
    },
    figure(name, value) {
      record.figures[name] = value;
    },
  };
}

function problemCode({ headers, text }: Answer): string | undefined {
  if (headers['content-type'] !== 'application/problem+json') return undefined;
  return (JSON.parse(text) as { code: string }).code;
}
