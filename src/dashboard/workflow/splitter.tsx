import { createStore } from '../store.ts';

/** Width of the names, in percent of the waterfall. It lasts until the page is closed. */
export const nameShare = createStore(38);

const LEAST = 15;
const MOST = 75;

const setShare = (share: number): void => nameShare.set(Math.round(Math.min(MOST, Math.max(LEAST, share))));

/** The border between names and bars, which can be dragged and moved by keys. */
export function Splitter({ share, width }: { readonly share: number; readonly width: number }) {
  function drag(event: PointerEvent): void {
    const handle = event.currentTarget as HTMLElement;
    if (!handle.hasPointerCapture(event.pointerId)) return;
    const left = handle.parentElement?.getBoundingClientRect().left ?? 0;
    setShare(((event.clientX - left) / width) * 100);
  }
  function onKey(event: KeyboardEvent): void {
    const steps: Readonly<Record<string, number>> = {
      ArrowLeft: share - 2,
      ArrowRight: share + 2,
      Home: LEAST,
      End: MOST,
    };
    const next = steps[event.key];
    if (next === undefined) return;
    event.preventDefault();
    setShare(next);
  }
  return (
    <div
      class="wf-splitter"
      style={{ left: `${(width * share) / 100}px` }}
      role="separator"
      aria-orientation="vertical"
      aria-label="Width of the names"
      aria-valuenow={share}
      aria-valuemin={LEAST}
      aria-valuemax={MOST}
      tabIndex={0}
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={drag}
      onKeyDown={onKey}
    />
  );
}
