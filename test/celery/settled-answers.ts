/** What an instance answers about settled tasks, without what differs between instances by design. */

import express from 'express';
import { createMonitorRouter } from '../../src/index.ts';
import type { MonitorSources } from '../../src/source.ts';
import { ask } from '../helpers/ask.ts';
import { listen } from '../helpers/hosts.ts';

/** Members that no ETag covers: when and from what an answer was made, and where the asking instance goes on. */
const OWN = new Set(['generated_at', 'sources', 'cursor', 'next_cursor']);

/** Bodies of settled tasks by their path. */
export type SettledAnswers = Readonly<Record<string, unknown>>;

/**
 * Asks for lists by several filters and orders, for statistics up to a moment, and for each task, its relations and its
 * graph.
 */
export async function settledAnswers(
  sources: MonitorSources,
  ids: readonly string[],
  until: Date,
): Promise<SettledAnswers> {
  const router = createMonitorRouter({ sources, authorize: false, dashboard: false });
  const server = await listen(express().use('/monitor', router));
  try {
    const answers: Record<string, unknown> = {};
    for (const path of pathsOf(ids, until)) {
      const { status, body } = await ask<Record<string, unknown>>(`${server.url}/monitor`, path);
      answers[path] = status === 200 ? shared(body) : status;
    }
    return answers;
  } finally {
    await router.close();
    await server.close();
  }
}

function pathsOf(ids: readonly string[], until: Date): string[] {
  const at = encodeURIComponent(until.toISOString());
  const lists = [
    ...['limit=1000', 'limit=20', 'limit=1000&state=FAILURE', 'limit=1000&queue=slow'],
    ...['sort=runtime&order=asc', 'sort=name&order=desc&limit=50', 'sort=finished', 'q=lab'],
    ...['5', '60', '1440', '10080'].map((minutes) => `limit=0&stats=${minutes}&stats_until=${at}`),
    `limit=0&stats=1440&queue=slow&stats_until=${at}`,
  ];
  return [
    ...lists.map((query) => `/api/tasks/?${query}`),
    ...ids.flatMap((id) => ['', 'relations/', 'graph/'].map((part) => `/api/tasks/${id}/${part}`)),
  ];
}

function shared(body: Record<string, unknown>): unknown {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !OWN.has(name)));
}

/** The bodies that differ, of both, the first few. */
export function differencesBetween(one: SettledAnswers, other: SettledAnswers): unknown[] {
  return Object.keys(one)
    .filter((path) => JSON.stringify(one[path]) !== JSON.stringify(other[path]))
    .map((path) => ({ path, ...firstDifference(one[path], other[path]) }))
    .slice(0, 5);
}

/** The first member that differs, so that a failure can be read. */
function firstDifference(one: unknown, other: unknown, at = ''): object {
  if (typeof one === 'object' && one !== null && typeof other === 'object' && other !== null) {
    const [a, b] = [one, other] as Readonly<Record<string, unknown>>[];
    for (const key of new Set([...Object.keys(one), ...Object.keys(other)])) {
      if (JSON.stringify(a?.[key]) !== JSON.stringify(b?.[key])) {
        return firstDifference(a?.[key], b?.[key], `${at}/${key}`);
      }
    }
    return { at: `${at}: the order of members`, one: Object.keys(one), other: Object.keys(other) };
  }
  return { at, one, other };
}
