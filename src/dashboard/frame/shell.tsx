import type { ComponentChildren } from 'preact';
import type { Branding } from '../branding.ts';
import { helpOpen } from '../help-open.ts';
import { connection } from '../live/connection.ts';
import { lazy } from '../parts/lazy.tsx';
import { linkTo } from '../route.ts';
import { said } from '../said.ts';
import { useStore } from '../store.ts';
import { useMedia } from '../use-media.ts';
import { VIEWS, type View } from '../views.ts';
import { Gate, Lost } from './connection-state.tsx';
import { preload } from './lazy-view.tsx';
import { LiveButton } from './live-button.tsx';
import { More } from './more.tsx';
import { RangeControls } from './range-controls.tsx';
import { SearchSlot, SearchToggle } from './search-slot.tsx';
import { SourceSelect } from './source-select.tsx';

const Help = lazy(async () => (await import('./help.tsx')).Help);

const ENTRIES = VIEWS.filter(({ key }) => key !== undefined);
/** Number of entries that fit on a phone, in addition to the entry for all others. */
const MOST_ON_PHONE = 4;

interface ShellProps {
  readonly branding: Branding;
  readonly view: View | undefined;
}

/** The frame around every view. */
export function Shell(props: ShellProps & { readonly children: ComponentChildren }) {
  const { branding, view, children } = props;
  const isPhone = useMedia('(max-width: 760px)');
  const isHelpOpen = useStore(helpOpen);
  const isLost = useStore(connection).state === 'lost';
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('view-title')?.focus()}>
        Skip to content
      </button>
      {isPhone ? <PhoneHead {...props} /> : <Head {...props} />}
      <Lost />
      <main class={isLost ? 'is-stale' : undefined}>
        <Gate>{children}</Gate>
      </main>
      {isPhone && (
        <Nav view={view} entries={ENTRIES.slice(0, MOST_ON_PHONE)}>
          <More text="More" isPhone links={branding.links} views={ENTRIES.slice(MOST_ON_PHONE)} />
        </Nav>
      )}
      <Said />
      {isHelpOpen && <Help />}
    </>
  );
}

function Head({ branding, view }: ShellProps) {
  return (
    <header class="frame">
      <div class="frame-row">
        <Brand branding={branding} />
        <Nav view={view} entries={ENTRIES} />
        <More text="⋯" isPhone={false} links={branding.links} views={[]} />
      </div>
      <div class="frame-row">
        <SearchSlot isPhone={false} />
        <SourceSelect />
        <RangeControls view={view} isPhone={false} />
        <LiveButton />
      </div>
    </header>
  );
}

function PhoneHead({ branding, view }: ShellProps) {
  return (
    <header class="frame">
      <div class="frame-row">
        <Brand branding={branding} />
        <LiveButton />
        <SearchToggle />
        <RangeControls view={view} isPhone />
      </div>
      <SearchSlot isPhone />
    </header>
  );
}

function Brand({ branding: { title, logo } }: Pick<ShellProps, 'branding'>) {
  return (
    <a class="brand" href={linkTo('')}>
      {logo !== null && <img src={logo} alt="" height={22} />}
      <span>{title}</span>
    </a>
  );
}

function Nav(props: {
  readonly view: View | undefined;
  readonly entries: readonly View[];
  readonly children?: ComponentChildren;
}) {
  const { view, entries, children } = props;
  const current = view?.under ?? view?.path;
  return (
    <nav aria-label="Views">
      {entries.map((entry) => (
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
      {children}
    </nav>
  );
}

/** The latest action of the page, in words. */
function Said() {
  const text = useStore(said);
  return (
    <div class="said" role="status">
      {text !== '' && <span>{text}</span>}
    </div>
  );
}
