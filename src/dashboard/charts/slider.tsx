import { useRef, useState } from 'preact/hooks';

/** A range of steps, the last one included. */
export type StepRange = readonly [first: number, last: number];

/** Actions on the steps that the reader points at. */
export interface StepHandlers {
  readonly count: number;
  /** The step at the pointer; `null`: none. */
  readonly index: number | null;
  readonly point: (index: number | null) => void;
  /** Called when the reader requests details about some steps. Default: nothing can be selected. */
  readonly pick?: (range: StepRange, how: 'mouse' | 'touch' | 'keys') => void;
}

/** Keys, and the number of steps by which they move. */
const MOVES: Readonly<Record<string, number>> = {
  ArrowRight: 1,
  ArrowUp: 1,
  ArrowLeft: -1,
  ArrowDown: -1,
  PageUp: 10,
  PageDown: -10,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
};

/**
 * The interactive area of a chart, one tab stop: points at its steps and selects ranges of them, by pointer and by keys.
 */
export function Slider(
  props: StepHandlers & {
    readonly label: string;
    /** A step in words. */
    readonly textOf: (index: number) => string;
  },
) {
  const { label, textOf, count, index, point, pick } = props;
  // Where the selection began.
  const [anchor, setAnchor] = useState<number | null>(null);
  const here = index ?? count - 1;
  const within = (step: number): number => Math.max(0, Math.min(count - 1, step));
  const rangeTo = (step: number): StepRange => {
    const from = anchor ?? step;
    return [Math.min(from, step), Math.max(from, step)];
  };
  const isSelected = anchor !== null && index !== null;
  const [first, last] = isSelected ? rangeTo(index) : [here, here];
  const place = { left: `${(first / count) * 100}%`, width: `${((last - first + 1) / count) * 100}%` };
  const pointer = usePointer(props, { within, rangeTo, setAnchor });

  function onKeyDown(event: KeyboardEvent): void {
    const move = MOVES[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isUsed = move !== undefined || event.key === 'Enter' || (event.key === 'Escape' && anchor !== null);
    if (!isUsed) return;
    event.preventDefault();
    event.stopPropagation();
    if (move !== undefined) {
      setAnchor(event.shiftKey && pick !== undefined ? (anchor ?? here) : null);
      point(within(here + move));
    } else {
      if (event.key === 'Enter') pick?.(rangeTo(here), 'keys');
      setAnchor(null);
    }
  }
  return (
    <div
      class="chart-slider"
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={count - 1}
      aria-valuenow={here}
      aria-valuetext={isSelected ? `from ${textOf(first)}, to ${textOf(last)}` : textOf(here)}
      {...pointer}
      onKeyDown={onKeyDown}
      onFocus={({ currentTarget }) => {
        if (index === null && currentTarget.matches(':focus-visible')) point(count - 1);
      }}
      onBlur={() => {
        pointer.onPointerCancel();
        point(null);
      }}
    >
      {index !== null && <i class={isSelected ? 'chart-selection' : 'chart-cursor'} style={place} />}
    </div>
  );
}

function usePointer(
  { count, point, pick }: StepHandlers,
  selection: {
    readonly within: (step: number) => number;
    readonly rangeTo: (step: number) => StepRange;
    readonly setAnchor: (step: number | null) => void;
  },
) {
  const { within, rangeTo, setAnchor } = selection;
  const pressed = useRef<number | null>(null);
  const stepOf = (event: PointerEvent): number => {
    const { left, width } = (event.currentTarget as HTMLElement).getBoundingClientRect();
    return within(Math.floor(((event.clientX - left) / width) * count));
  };
  function onPointerCancel(): void {
    pressed.current = null;
    setAnchor(null);
  }
  return {
    onPointerDown(event: PointerEvent) {
      if (event.button !== 0) return;
      (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
      pressed.current = stepOf(event);
      setAnchor(null);
      point(pressed.current);
    },
    onPointerMove(event: PointerEvent) {
      const step = stepOf(event);
      if (pick !== undefined && pressed.current !== null && step !== pressed.current)
        setAnchor(pressed.current);
      point(step);
    },
    onPointerUp(event: PointerEvent) {
      if (pressed.current === null) return;
      pick?.(rangeTo(stepOf(event)), event.pointerType === 'touch' ? 'touch' : 'mouse');
      onPointerCancel();
    },
    onPointerCancel,
    onPointerLeave(event: PointerEvent) {
      // A step that was touched stays until another one is touched.
      if (event.pointerType !== 'touch') point(null);
    },
  };
}
