import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Branding } from './branding.ts';
import { ConnectionState, Gate, Lost } from './connection-state.tsx';
import { helpOpen, SHORTCUTS } from './keys.ts';
import { linkTo, type ViewName } from './route.ts';
import { nextTheme, nextZone, theme, zone } from './settings.ts';
import { useStore } from './store.ts';

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
  const nav = useRef<HTMLElement>(null);
  useEffect(() => {
    // On a phone the last views are out of sight.
    const current = nav.current?.querySelector('[aria-current]');
    current?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [view]);
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
        <nav aria-label="Views" ref={nav}>
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
      <main>
        <Gate>{children}</Gate>
      </main>
      <Help />
    </>
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
