import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Branding } from './branding.ts';
import { helpOpen, SHORTCUTS } from './keys.ts';
import { clock } from './live/clock.ts';
import { connection } from './live/connection.ts';
import { feed } from './live/feed.ts';
import { linkTo, type ViewName } from './route.ts';
import { nextTheme, nextZone, theme, zone } from './settings.ts';
import { useStore } from './store.ts';
import { duration } from './text/numbers.ts';

const VIEWS: readonly {
  readonly path: string;
  readonly text: string;
  readonly views: readonly ViewName[];
}[] = [
  { path: '', text: 'Overview', views: ['overview'] },
  { path: 'tasks', text: 'Tasks', views: ['tasks', 'task', 'workflow'] },
  { path: 'workers', text: 'Workers', views: ['workers'] },
  { path: 'schedules', text: 'Schedules', views: ['schedules'] },
  { path: 'components', text: 'Components', views: ['components'] },
  { path: 'metrics', text: 'Metrics', views: ['metrics'] },
];

/** The frame around every view. */
export function Shell(props: {
  readonly branding: Branding;
  readonly view: ViewName;
  readonly children: ComponentChildren;
}) {
  const { branding, view, children } = props;
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('view-title')?.focus()}>
        Skip to content
      </button>
      <header class="top">
        <a class="brand" href={linkTo('')}>
          {branding.logo !== null && <img src={branding.logo} alt="" height={22} />}
          <span>{branding.title}</span>
        </a>
        <nav aria-label="Views">
          {VIEWS.map(({ path, text, views }) => (
            <a key={path} href={linkTo(path)} aria-current={views.includes(view) ? 'page' : undefined}>
              {text}
            </a>
          ))}
        </nav>
        <div class="top-tools">
          {branding.links.map(({ text, url }) => (
            <a key={url} class="host-link" href={url} rel="noreferrer">
              {text}
            </a>
          ))}
          <ConnectionState />
          <ZoneButton />
          <ThemeButton />
          <button
            type="button"
            class="small"
            aria-label="Keyboard shortcuts"
            onClick={() => helpOpen.set(true)}
          >
            ?
          </button>
        </div>
      </header>
      <Lost />
      <main>{children}</main>
      <Help />
    </>
  );
}

const WORDS = { connecting: 'Connecting', ok: 'Live', lost: 'Disconnected', refused: 'Refused' };
const TONES = { connecting: 'waiting', ok: 'success', lost: 'failure', refused: 'failure' };

function ConnectionState() {
  const { state } = useStore(connection);
  const { available } = useStore(feed);
  const isPolled = state === 'ok' && !available;
  return (
    <span
      class={`connection tone-${TONES[state]}`}
      role="status"
      title={isPolled ? 'There is no feed of events: views are read again every 15 s.' : undefined}
    >
      {isPolled ? 'Polling' : WORDS[state]}
    </span>
  );
}

/** A banner across the page while the connection is lost. */
function Lost() {
  const { state, answeredAt } = useStore(connection);
  const now = useStore(clock);
  if (state !== 'lost' && state !== 'refused') return null;
  const age =
    answeredAt === null
      ? ''
      : ` What is shown is ${duration(Math.max(0, Math.round((now - answeredAt) / 1_000)) * 1_000)} old.`;
  return (
    <div class="lost" role="alert">
      {state === 'lost'
        ? `The monitor does not answer; it is asked again by itself.${age}`
        : `The app no longer lets you see this. Sign in again, then load this page anew.${age}`}
    </div>
  );
}

function ThemeButton() {
  const chosen = useStore(theme);
  const text = { auto: 'Auto', light: 'Light', dark: 'Dark' }[chosen];
  return (
    <button type="button" class="small" onClick={nextTheme} aria-label={`Theme: ${text}`} title="Theme (d)">
      {text}
    </button>
  );
}

function ZoneButton() {
  const chosen = useStore(zone);
  const text = chosen === 'utc' ? 'UTC' : 'Local';
  return (
    <button type="button" class="small" onClick={nextZone} aria-label={`Times: ${text}`} title="Times (u)">
      {text}
    </button>
  );
}

function Help() {
  const isOpen = useStore(helpOpen);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  return (
    <dialog ref={dialog} aria-labelledby="help-title" onClose={() => helpOpen.set(false)}>
      <h2 id="help-title">Keyboard</h2>
      <dl class="keys">
        {SHORTCUTS.map(([keys, meaning]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={() => helpOpen.set(false)}>
        Close
      </button>
    </dialog>
  );
}
