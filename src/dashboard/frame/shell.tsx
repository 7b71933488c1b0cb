import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Branding } from '../branding.ts';
import { helpOpen } from '../help-open.ts';
import { linkTo } from '../route.ts';
import { useStore } from '../store.ts';
import { VIEWS, type View } from '../views.ts';
import { ConnectionState, Gate, Lost } from './connection-state.tsx';
import { SHORTCUTS } from './keys.ts';
import { preload } from './lazy-view.tsx';
import { More } from './more.tsx';
import { RangeControls } from './range-picker.tsx';

const ENTRIES = VIEWS.filter(({ key }) => key !== undefined);

/** The frame around every view. */
export function Shell(props: {
  readonly branding: Branding;
  readonly view: View | undefined;
  readonly children: ComponentChildren;
}) {
  const { branding, view, children } = props;
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('view-title')?.focus()}>
        Skip to content
      </button>
      <header class="frame">
        <div class="frame-row">
          <a class="brand" href={linkTo('')}>
            {branding.logo !== null && <img src={branding.logo} alt="" height={22} />}
            <span>{branding.title}</span>
          </a>
          <Nav view={view} />
          <More links={branding.links} />
        </div>
        <div class="frame-row">
          <RangeControls view={view} />
          <ConnectionState />
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

function Nav({ view }: { readonly view: View | undefined }) {
  const nav = useRef<HTMLElement>(null);
  const current = view?.under ?? view?.path;
  useEffect(() => {
    // On a phone the last views are out of sight.
    const entry = nav.current?.querySelector('[aria-current]');
    entry?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [view]);
  return (
    <nav aria-label="Views" ref={nav}>
      {ENTRIES.map((entry) => (
        <a
          key={entry.path}
          href={linkTo(entry.path)}
          aria-current={entry.path === current ? 'page' : undefined}
          onPointerEnter={() => preload(entry)}
          onFocus={() => preload(entry)}
        >
          {entry.title}
        </a>
      ))}
    </nav>
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
