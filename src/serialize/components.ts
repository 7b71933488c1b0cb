import type { FoundProblem, RuleOutcome } from '../findings/evaluate.ts';
import type { Component, Queue } from '../model.ts';
import { credentialsLength, plainRecord, type Redactor } from '../redact.ts';
import type { ComponentBody, FindingBody, QueueBody, RuleBody } from '../wire.ts';
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

// Longer than the URL of any real component.
const LONGEST_URL = 2_048;

/** Separator between the URLs of a list, which Celery accepts as a broker URL. */
const NEXT_URL = /;(?=\s*[a-z][a-z0-9+.-]*:\/\/)/i;

/**
 * A URL without user, password, query and fragment. Does not use the `URL` class, because that rejects lists
 * of URLs (`redis://a;redis://b`), paths and some hosts that brokers accept.
 */
function displayUrl(url: string): string {
  return wellFormed(url.slice(0, LONGEST_URL).split(NEXT_URL).map(withoutSecrets).join(';'));
}

function withoutSecrets(url: string): string {
  const scheme = /^\s*[a-z][a-z0-9+.-]*:\/\//i.exec(url)?.[0] ?? '';
  const address = url.slice(scheme.length);
  const shown = address.slice(credentialsLength(address)).replace(/^@/, '');
  return scheme + shown.replace(/[?#].*$/s, '');
}

/** @param sentence redacts and truncates */
export function findingBody(
  finding: FoundProblem,
  redactor: Redactor,
  sentence: (text: string) => string,
): FindingBody {
  const { text, isSecretKey } = rulesFor(redactor, false);
  const show = (value: string): string => wellFormed(text(value, 'config'));
  const { code, severity, since, source, subject, summary, evidence, look } = finding;
  return {
    code,
    severity,
    since: new Date(since).toISOString(),
    source,
    subject: subject === null ? null : sentence(subject),
    summary: sentence(summary),
    evidence: plainRecord(evidence, show, isSecretKey) ?? {},
    look: wellFormed(look),
  };
}

/** @param sentence redacts and truncates */
export function ruleBody(outcome: RuleOutcome, sentence: (text: string) => string): RuleBody {
  const { code, source, status, reason, found } = outcome;
  return { code, source, status, reason: reason === null ? null : sentence(reason), found };
}
