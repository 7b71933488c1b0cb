import type { Component } from '../model.ts';
import type { Redactor } from '../redact.ts';
import type { ComponentBody, QueueBody } from '../wire.ts';
import { displayUrl } from './display-url.ts';
import { plainRecord } from './plain.ts';
import { label, MOST_ITEMS, whole } from './scalars.ts';

const STATUSES: readonly ComponentBody['status'][] = ['up', 'down', 'disabled', 'unknown'];

/** `null` when it has no key, no name or no status. */
export function componentBody(component: Component, redactor: Redactor): ComponentBody | null {
  const name = label(component.name);
  const given: unknown = component.status;
  const status = STATUSES.find((known) => known === given);
  if (label(component.key) === null || name === null || status === undefined) return null;
  const url: unknown = component.url;
  const queues: unknown = component.queues;
  return {
    name,
    enabled: component.enabled === true,
    status,
    pid: whole(component.pid),
    url: typeof url === 'string' && url !== '' ? redactor.text(displayUrl(url), 'config') : null,
    config: plainRecord(component.config, redactor),
    ...(Array.isArray(queues) && { queues: queues.slice(0, MOST_ITEMS).flatMap(queueBody) }),
  };
}

function queueBody(queue: unknown): QueueBody[] {
  if (typeof queue !== 'object' || queue === null) return [];
  const given = queue as Record<string, unknown>;
  const name = label(given.name);
  if (name === null) return [];
  return [
    {
      name,
      waiting: whole(given.waiting),
      reserved: whole(given.reserved),
      consumers: whole(given.consumers),
    },
  ];
}
