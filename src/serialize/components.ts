import type { Component, Queue } from '../model.ts';
import { plainRecord, type Redactor } from '../redact.ts';
import type { ComponentBody, QueueBody } from '../wire.ts';
import { displayUrl } from './display-url.ts';
import { isoTime } from './moments.ts';
import { countsOf, label, wellFormed, whole } from './scalars.ts';
import { rulesFor } from './shown-text.ts';

const STATUSES: readonly ComponentBody['status'][] = ['up', 'down', 'disabled', 'unknown'];

/** Serializes a component; `null` when it has no key, name or status. */
export function componentBody(component: Component, redactor: Redactor): ComponentBody | null {
  const name = label(component.name);
  const given: unknown = component.status;
  const status = STATUSES.find((known) => known === given);
  if (label(component.key) === null || name === null || status === undefined) return null;
  const url: unknown = component.url;
  const { text, isSecretKey } = rulesFor(redactor, component.redacted === true);
  const show = (value: string): string => wellFormed(text(value, 'config'));
  return {
    name,
    enabled: component.enabled === true,
    status,
    pid: whole(component.pid),
    url: typeof url === 'string' && url !== '' ? text(displayUrl(url), 'config') : null,
    config: plainRecord(component.config, show, isSecretKey),
  };
}

/** Serializes a queue; `null` when it has no name. */
export function queueBody(queue: Queue, source: string, now: Date): QueueBody | null {
  const name = label(queue.name);
  if (name === null) return null;
  const due = isoTime(queue.oldestDueAt);
  return {
    name,
    waiting: whole(queue.waiting),
    reserved: whole(queue.reserved),
    consumers: whole(queue.consumers),
    // The clocks of two machines differ. A wait is never negative.
    oldest_due_seconds:
      due === null ? null : Math.max(0, Math.floor((now.getTime() - Date.parse(due)) / 1_000)),
    engine_states: countsOf(queue.engineStates),
    paused: typeof queue.isPaused === 'boolean' ? queue.isPaused : null,
    as_of: isoTime(queue.asOf),
    source,
  };
}
