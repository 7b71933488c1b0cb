import type { ComponentsBody, FindingBody } from '../../client.ts';
import type { Resource } from '../live/use-resource.ts';
import { Moment } from '../parts/moment.tsx';
import { linkTo } from '../route.ts';
import { dismissed, toggleDismissed, zone } from '../settings.ts';
import { useStore } from '../store.ts';
import { clockTime } from '../text/moments.ts';
import { counted } from '../text/numbers.ts';
import { allHints, lookOf, verdictOf } from './findings.ts';

/** The verdict: problems, what could not be checked, and settings that hide data. */
export function Attention(props: {
  readonly components: Resource<ComponentsBody>;
  /** Whether the monitor does not answer. */
  readonly isLost: boolean;
}) {
  const chosen = useStore(zone);
  const hidden = useStore(dismissed);
  const { data: components, error, at } = props.components;
  if (components === null) return <Unread hasFailed={error !== null} />;
  const { tone, text, findings, unknown } = verdictOf(components.findings);
  const isOld = (error !== null || props.isLost) && at !== null;
  const [first, ...others] = allHints(components).filter(([, hint]) => !hidden.includes(hint));
  return (
    <section aria-label="Verdict" class={isOld ? 'verdict is-old' : 'verdict'}>
      {first !== undefined && (
        <div class="notice tone-waiting">
          <Hint of={first} />
        </div>
      )}
      <p class={`verdict-text tone-${isOld ? 'waiting' : tone}`} role="status">
        {isOld ? `Unknown since ${clockTime(new Date(at), chosen)}. Before: ${text}` : text}
      </p>
      {findings.length > 0 && (
        <ul class="findings" aria-label="Problems">
          {findings.map((finding) => (
            <Problem key={`${finding.code} ${finding.source} ${finding.subject}`} finding={finding} />
          ))}
        </ul>
      )}
      {unknown.length > 0 && (
        <details>
          <summary class="dim">{counted(unknown.length, 'reason')} why some checks did not run</summary>
          <ul class="dim">
            {unknown.map((reason) => (
              <li key={reason}>{reason}</li>
            ))}
          </ul>
        </details>
      )}
      <MoreHints hints={others} />
    </section>
  );
}

/** Shown until the verdict has been read. */
function Unread({ hasFailed }: { readonly hasFailed: boolean }) {
  return (
    <section aria-label="Verdict" class="verdict">
      <p class="verdict-text tone-waiting" role="status">
        {hasFailed ? 'Unknown: the checks could not be loaded.' : 'Unknown: the checks are still loading.'}
      </p>
    </section>
  );
}

const MARKS = { critical: ['failure', '✕', 'Critical'], warning: ['retry', '!', 'Warning'] } as const;

function Problem({ finding }: { readonly finding: FindingBody }) {
  const { severity, summary, since } = finding;
  const [tone, mark, word] = MARKS[severity];
  const { link, text } = lookOf(finding);
  return (
    <li class={`notice tone-${tone}`}>
      <span class={`finding-mark tone-${tone}`} role="img" aria-label={word}>
        {mark}
      </span>
      <div class="finding-text">
        <strong>{summary}</strong>{' '}
        <span class="dim">
          since <Moment at={since} />
        </span>
      </div>
      <a class="button small" href={link} aria-label={`${text}: ${summary}`}>
        {text} ›
      </a>
    </li>
  );
}

type HintOf = readonly [key: string, hint: string];

/** A setting that hides data: not a problem of the deployment, but it makes the monitor incomplete. */
function Hint({ of: [key, hint] }: { readonly of: HintOf }) {
  return (
    <>
      <div class="finding-text">
        {hint} <a href={linkTo('system')}>{key}</a>
      </div>
      <button
        type="button"
        class="small"
        aria-label={`Dismiss: ${hint}`}
        onClick={() => toggleDismissed(hint)}
      >
        Dismiss
      </button>
    </>
  );
}

function MoreHints({ hints }: { readonly hints: readonly HintOf[] }) {
  if (hints.length === 0) return null;
  return (
    <details>
      <summary class="dim">{counted(hints.length, 'more hint')} about settings</summary>
      <ul>
        {hints.map((one) => (
          <li key={one.join(' ')} class="notice">
            <Hint of={one} />
          </li>
        ))}
      </ul>
    </details>
  );
}
