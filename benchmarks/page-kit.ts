/** A host whose page is measured in Chromium, and the tasks that it shows. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import type { Page } from 'playwright-core';
import { createMonitorRouter } from '../src/index.ts';
import { type MemorySources, memorySources } from '../src/memory.ts';

export async function serve(queue: MemorySources): Promise<{ url: string; close(): void }> {
  const app = express();
  app.use('/monitor', createMonitorRouter({ sources: queue, authorize: false }));
  const server = createServer(app).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/monitor/`;
  return {
    url,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Records this many changes of tasks. */
export function feeder(queue: MemorySources): (count: number) => void {
  let number = 0;
  return (count) => {
    for (let index = 0; index < count; index += 1) {
      number += 1;
      const isFailed = number % 50 === 0;
      const state = isFailed ? 'FAILURE' : number % 3 === 0 ? 'SUCCESS' : 'STARTED';
      const task = {
        id: `task-${number % 90_000}`,
        name: `shop.step_${number % 9}`,
        queue: `q${number % 4}`,
      };
      const error = isFailed ? { error: new Error(`order ${number} was declined`) } : {};
      queue.record({ ...task, ...error, state, worker: `w${number % 20}@shop` });
    }
  };
}

/** A workflow of this many tasks with times; `deep`: each sends three others, else one sends all. */
export function workflowOf(size: number, kind: 'deep' | 'flat'): MemorySources {
  const queue = memorySources({ retention: { maxTasks: 200_000 } });
  const start = Date.now() - 600_000;
  for (let index = 0; index < size; index += 1) {
    const above = kind === 'flat' ? 0 : Math.floor((index - 1) / 3);
    const parent = index === 0 ? {} : { parentId: `t${above}`, rootId: 't0' };
    const task = { id: `t${index}`, name: `shop.step_${index % 7}`, worker: `w${index % 8}@shop`, ...parent };
    const at = start + index * 40;
    queue.record({ ...task, state: 'PENDING', timestamp: at });
    queue.record({ ...task, state: 'STARTED', timestamp: at + 30 });
    const state = index % 500 === 499 ? 'FAILURE' : 'SUCCESS';
    const end = state === 'FAILURE' ? { error: new Error(`row ${index} is bad`) } : { result: index };
    queue.record({ ...task, ...end, state, timestamp: at + 200 });
  }
  return queue;
}

/** The tasks of the main thread in a part of a page's life. */
export interface MainTasks {
  /** The longest by the clock, in milliseconds: other programs prolong it. */
  readonly longest: number;
  /** The longest by processor time, in milliseconds. */
  readonly longestOfProcessor: number;
  /** How many took 50 ms or more by the clock. */
  readonly long: number;
}

/** Makes the processor of a page slower. */
export async function slowDown(page: Page, rate: number): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send('Emulation.setCPUThrottlingRate', { rate });
}

/** The trace that a browser writes about its threads; times are in microseconds. */
interface Trace {
  readonly traceEvents: readonly {
    readonly name: string;
    readonly pid: number;
    readonly tid: number;
    readonly dur?: number;
    readonly tdur?: number;
    readonly args: { readonly name?: string };
  }[];
}

const MS = 1_000;
const LONG_MS = 50;

/** Notes the tasks of a page's main thread until the function that it resolves with is called. */
export async function traceTasks(page: Page): Promise<() => Promise<MainTasks>> {
  const browser = page.context().browser();
  if (browser === null) throw new Error('The page has no browser.');
  await browser.startTracing(page, { categories: ['toplevel'] });
  return async () => {
    const { traceEvents }: Trace = JSON.parse((await browser.stopTracing()).toString());
    const mains = new Set(
      traceEvents
        .filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain')
        .map(({ pid, tid }) => `${pid} ${tid}`),
    );
    const tasks = traceEvents.filter(
      ({ name, pid, tid }) => name === 'ThreadControllerImpl::RunTask' && mains.has(`${pid} ${tid}`),
    );
    return {
      longest: Math.max(0, ...tasks.map(({ dur = 0 }) => dur)) / MS,
      longestOfProcessor: Math.max(0, ...tasks.map(({ tdur = 0 }) => tdur)) / MS,
      long: tasks.filter(({ dur = 0 }) => dur >= LONG_MS * MS).length,
    };
  };
}
