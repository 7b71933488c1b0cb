import type { ComponentChildren } from 'preact';
import { connection, isShut, sourceNames } from '../live/connection.ts';
import { helpOpen, nextTheme, nextZone, said, theme, zone } from '../page-state.ts';
import { CopyButton } from '../parts/inline.tsx';
import { lazy } from '../parts/lazy.tsx';
import { Empty, ViewHead } from '../parts/view.tsx';
import { linkBetween, rangeOf } from '../range.ts';
import { currentRoute, go, linkHere, linkTo } from '../route.ts';
import { useNarrow, useStore } from '../store.ts';
import { moment } from '../text/format.ts';
import { VIEWS, type View, viewOf } from '../views.tsx';
import { LiveButton } from './live-button.tsx';
import { Popover } from './popover.tsx';
import { RangeControls } from './range-controls.tsx';
import { SearchSlot, SearchToggle } from './search-box.tsx';

const Help = lazy(async () => (await import('./help.tsx')).Help);

const ENTRIES = VIEWS.filter(({ key }) => key !== undefined);
/** The entries that fit on a phone, and those in its menu. */
const [ON_PHONE, IN_MENU] = [ENTRIES.slice(0, 4), ENTRIES.slice(4)];

interface ShellProps {
  readonly branding: Branding;
  readonly view: View | undefined;
}

/** The frame around every view. */
export function Shell(props: ShellProps & { readonly children: ComponentChildren }) {
  const { branding, view, children } = props;
  const isPhone = useNarrow();
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
        <Nav view={view} entries={ON_PHONE}>
          <More branding={branding} view={view} isPhone />
        </Nav>
      )}
      <Said />
      {isHelpOpen && <Help />}
    </>
  );
}

function Head(props: ShellProps) {
  const { branding, view } = props;
  return (
    <header class="frame">
      <div class="line frame-row">
        <Brand branding={branding} />
        <Nav view={view} entries={ENTRIES} />
        <More {...props} isPhone={false} />
      </div>
      <div class="line frame-row">
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
      <div class="line frame-row">
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
    <a class="line brand" href={linkTo('')}>
      {logo !== null && <img src={logo} alt="" height={22} />}
      <span class="one-line">{title}</span>
    </a>
  );
}

/** Whether a view belongs to an entry of the navigation. */
const isAt = (entry: View, view: View | undefined): boolean => entry.path === (view?.under ?? view?.path);

function Nav(props: {
  readonly view: View | undefined;
  readonly entries: readonly View[];
  readonly children?: ComponentChildren;
}) {
  const { view, entries, children } = props;
  return (
    <nav aria-label="Views">
      {entries.map((entry) => (
        <a
          key={entry.path}
          href={linkTo(entry.path)}
          aria-current={isAt(entry, view) ? 'page' : undefined}
          onPointerEnter={entry.content.preload}
          onFocus={entry.content.preload}
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

/** The view, or why it may not be shown. It is then not mounted, so that none of its data can be read. */
function Gate({ children }: { readonly children: ComponentChildren }) {
  const now = useStore(connection);
  if (!isShut(now)) return <>{children}</>;
  const isSignedOut = now.state === 'signed-out';
  return (
    <>
      <ViewHead title={isSignedOut ? 'Signed out' : 'Refused'} />
      <div role="alert">
        <Empty
          title={
            isSignedOut
              ? 'You are signed out. Sign in and this view comes back.'
              : 'You do not have access to this monitor. The app refused the request.'
          }
        >
          <button type="button" onClick={() => location.reload()}>
            {isSignedOut ? 'Sign in' : 'Try again'}
          </button>
        </Empty>
      </div>
    </>
  );
}

/** A banner across the page while the monitor does not answer. */
function Lost() {
  const { state, answeredAt } = useStore(connection);
  const chosen = useStore(zone);
  if (state !== 'lost') return null;
  const since = answeredAt === null ? null : moment(new Date(answeredAt), chosen);
  return (
    <div class="lost" role="alert">
      {since === null ? 'No answer yet.' : `No answer since ${since}. Figures are from then.`}
    </div>
  );
}

/** The menu of rarely used functions; on a phone also of the views that do not fit, and of the source. */
function More({ branding, view, isPhone }: ShellProps & { readonly isPhone: boolean }) {
  const isCurrent = isPhone && view !== undefined && !ON_PHONE.some((entry) => isAt(entry, view));
  return (
    <Popover id="more" class="frame-more" label="More" text={isPhone ? 'More' : '⋯'} isCurrent={isCurrent}>
      {isPhone &&
        IN_MENU.map(({ path, title }) => (
          <a key={path} href={linkTo(path)}>
            {title}
          </a>
        ))}
      {isPhone && <SourceSelect />}
      <a href={linkTo('names')}>Names</a>
      <a href={linkTo('system')}>System</a>
      <Settings />
      <button type="button" onClick={openHelp}>
        Keyboard
      </button>
      <CopyButton label="Copy link" text={absoluteLink} />
      {branding.links.map(({ text, url }) => (
        <a key={url} href={url} rel="noreferrer">
          {text}
        </a>
      ))}
    </Popover>
  );
}

/** Moves the focus to the menu's button first, so that closing the dialog returns it there. */
function openHelp(): void {
  document.getElementById('more')?.hidePopover();
  helpOpen.set(true);
}

/** The settings, each a button that switches to the next value. */
function Settings() {
  const words = { auto: 'Auto', light: 'Light', dark: 'Dark', local: 'Local', utc: 'UTC' };
  return (
    <>
      <button type="button" onClick={nextZone} title="Times (u)">
        {`Times: ${words[useStore(zone)]}`}
      </button>
      <button type="button" onClick={nextTheme} title="Theme (d)">
        {`Theme: ${words[useStore(theme)]}`}
      </button>
    </>
  );
}

/** Chooses the source to show, if there are several. */
function SourceSelect() {
  const names = useStore(sourceNames);
  const chosen = useStore(currentRoute).query.get('only') ?? '';
  const all = chosen === '' || names.includes(chosen) ? names : [...names, chosen];
  if (all.length < 2 && chosen === '') return null;
  return (
    <select
      aria-label="Source"
      value={chosen}
      onChange={(event) => go(linkHere({ only: event.currentTarget.value || null }))}
    >
      <option value="">All sources</option>
      {all.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}

/** The address of the current view, with fixed times: it will show the same period later. */
export function absoluteLink(): string {
  const route = currentRoute.get();
  const { kind, isChosen, since, until } = rangeOf(route.query);
  const period = viewOf(route)?.period ?? 'now';
  const isMoving = kind !== 'fixed' && (period === 'window' || (period === 'any' && isChosen));
  const link = isMoving ? linkBetween(since, until) : linkHere({});
  return new URL(link, location.href).href;
}

/**
 * Title, links and logo that the host has configured. They are in an attribute of the HTML, since a CSP may
 * forbid inline scripts.
 */
export interface Branding {
  readonly title: string;
  readonly links: readonly { readonly text: string; readonly url: string }[];
  readonly logo: string | null;
}

/** Reads the branding from the page's root element. */
export const readBranding = (root: HTMLElement): Branding => JSON.parse(root.dataset.branding ?? '');
