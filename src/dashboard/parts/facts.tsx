/** How facts are shown: as lists, figures, links with numbers, and badges. */
import type { ComponentChildren } from 'preact';
import type { WaitBody } from '../../wire.ts';
import { count } from '../text/format.ts';
import { saysMore, toneOf } from '../text/words.ts';
import { Ago } from './inline.tsx';

/** A list of facts, without those that are unknown or do not apply. */
export function Facts(props: {
  readonly facts: readonly (readonly [name: string, value: ComponentChildren])[];
  /** Whether the names are long. Default false. */
  readonly isWide?: boolean;
}) {
  const { facts, isWide = false } = props;
  return (
    <dl class={isWide ? 'facts wide' : 'facts'}>
      {facts.map(
        ([name, value]) =>
          value && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

/** One figure in a row of figures. One that does not apply is a dash, so that all stand in line. */
export function Tile({ name, value }: { readonly name: string; readonly value: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class="num">{value || '–'}</dd>
    </div>
  );
}

/** Links, most of them with a number, under a heading. */
export function CountedLinks(props: {
  readonly title: string;
  readonly items: readonly {
    readonly text: string;
    readonly link: string;
    readonly count?: number;
    /** The link to what was counted. Default: none. */
    readonly rows?: string;
  }[];
  /** What is said if there are none. */
  readonly none?: string;
}) {
  const { title, items, none } = props;
  return (
    <>
      <h2>{title}</h2>
      {items.length === 0 && <p class="dim">{none}</p>}
      <ul class="counted-links" aria-label={title} hidden={items.length === 0}>
        {items.map(({ text, link, count: number, rows }) => (
          <li key={text} class="line">
            <a class="wrap" href={link}>
              {text}
            </a>
            {number !== undefined && (
              <span class="num">
                {rows === undefined ? count(number) : <a href={rows}>{count(number)}</a>}
              </span>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

/** A task state as a colour and a word, with the engine's word for it if that adds information. */
export function StateBadge(props: { readonly state: string; readonly engineState?: string | null }) {
  const { state, engineState = null } = props;
  return (
    <>
      <span class={`badge tone-${toneOf(state)}`}>{state}</span>
      <EngineState word={engineState} />
    </>
  );
}

/** The engine's word for the state of a task, if it adds information to the state. */
export function EngineState({ word }: { readonly word: string | null }) {
  if (!saysMore(word)) return null;
  return <span class="badge tone-waiting outlined">{word}</span>;
}

const FLAGS: Readonly<Record<string, { readonly text: string; readonly title: string }>> = {
  worker_lost: { text: 'worker lost', title: 'The heartbeats of its worker stopped.' },
  overdue: { text: 'overdue', title: 'Its ETA has passed, but it has not started.' },
  never_received: { text: 'never received', title: 'It was sent, but is in no queue and on no worker.' },
  consequence: { text: 'consequence', title: 'It failed only because a task it depends on failed.' },
  end_unseen: {
    text: 'end unseen',
    title: 'Its worker no longer runs it, and nothing reported how it ended.',
  },
  ran_twice: { text: 'ran twice', title: 'It was delivered again and ran again, without a retry.' },
};

/** Known problems that the state of a task does not show. */
export function Flags({ flags }: { readonly flags: readonly string[] }) {
  return (
    <>
      {flags.map((flag) => (
        <span key={flag} class="badge tone-failure outlined" title={FLAGS[flag]?.title}>
          {FLAGS[flag]?.text ?? flag}
        </span>
      ))}
    </>
  );
}

const STATUS_TONES: Readonly<Record<string, string>> = {
  online: 'success',
  up: 'success',
  pass: 'success',
  stale: 'retry',
  unknown: 'waiting',
  disabled: 'waiting',
  offline: 'failure',
  down: 'failure',
  fail: 'failure',
};

/** The status of a worker or a component. */
export function Status({ status }: { readonly status: string }) {
  return <span class={`badge tone-${STATUS_TONES[status] ?? 'waiting'}`}>{status}</span>;
}

/** Why a task or the tasks of a queue wait, and since or until when. Nothing if they do not. */
export function Blocked({ wait }: { readonly wait: WaitBody | null }) {
  if (wait === null) return null;
  const { summary, until, since } = wait;
  return (
    <p class="flow blocked">
      <strong>{summary}</strong>{' '}
      {(until ?? since) !== null && (
        <span class="dim">
          {until === null ? 'Since ' : 'Ends '}
          <Ago at={until ?? since} />
        </span>
      )}
    </p>
  );
}
