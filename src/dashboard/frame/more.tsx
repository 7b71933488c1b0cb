import type { Branding } from '../branding.ts';
import { helpOpen } from '../help-open.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { linkTo } from '../route.ts';
import { nextTheme, nextZone, theme, zone } from '../settings.ts';
import { useStore } from '../store.ts';
import type { View } from '../views.ts';
import { absoluteLink } from './absolute-link.ts';
import { Popover } from './popover.tsx';
import { SourceSelect } from './source-select.tsx';

/** The menu of rarely used functions. @param views views that do not fit into the navigation */
export function More(props: {
  readonly links: Branding['links'];
  readonly views: readonly View[];
  readonly text: string;
  /** On a phone, the menu contains the choice of the source. */
  readonly isPhone: boolean;
}) {
  const { links, views, text: sign, isPhone } = props;
  return (
    <Popover id="more" class="frame-more" label="More" text={sign}>
      {() => (
        <>
          {views.map(({ path, title }) => (
            <a key={path} href={linkTo(path)}>
              {title}
            </a>
          ))}
          {isPhone && <SourceSelect />}
          <a href={linkTo('names')}>Names</a>
          <a href={linkTo('system')}>System</a>
          <ZoneButton />
          <ThemeButton />
          <button type="button" onClick={openHelp}>
            Keyboard
          </button>
          <CopyButton label="Copy link" text={absoluteLink} />
          {links.map(({ text, url }) => (
            <a key={url} href={url} rel="noreferrer">
              {text}
            </a>
          ))}
        </>
      )}
    </Popover>
  );
}

/** Moves the focus to the menu's button first, so that closing the dialog returns it there. */
function openHelp(): void {
  document.getElementById('more')?.hidePopover();
  helpOpen.set(true);
}

function ThemeButton() {
  const chosen = useStore(theme);
  const text = { auto: 'Auto', light: 'Light', dark: 'Dark' }[chosen];
  return (
    <button type="button" onClick={nextTheme} title="Theme (d)">
      {`Theme: ${text}`}
    </button>
  );
}

function ZoneButton() {
  const chosen = useStore(zone);
  const text = chosen === 'utc' ? 'UTC' : 'Local';
  return (
    <button type="button" onClick={nextZone} title="Times (u)">
      {`Times: ${text}`}
    </button>
  );
}
