import { useRef, useState } from 'preact/hooks';

/** A range of steps, the last one included. */
export type StepRange = readonly [first: number, last: number];

/** Actions on the steps that the reader points at. */
export interface StepHandlers {
  readonly count: number;
  /** The step at the pointer; `null`: none. */
  readonly index: number | null;
  readonly point: (index: number | null) => void;
  /** Whether ranges can be selected. */
  readonly hasRanges: boolean;
  /** Called when the reader requests details about some steps. */
  readonly pick: (range: StepRange, how: 'mouse' | 'touch' | 'keys') => void;
}

/** Keys, and the number of pages by which they move. */
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

/** Points at the steps of a chart and selects ranges of them, by pointer and by keys. */
export function useSteps(props: StepHandlers) {
  const { count, index, point } = props;
  const [anchor, setAnchor] = useState<number | null>(null);
  const within = (step: number): number => Math.max(0, Math.min(count - 1, step));
  const rangeTo = (step: number): StepRange => {
    const from = anchor ?? step;
    return [Math.min(from, step), Math.max(from, step)];
  };
  const selection: Selection = { anchor, setAnchor, within, rangeTo };
  const pointer = usePointer(props, selection);
  return {
    selected: anchor === null || index === null ? null : rangeTo(index),
    handlers: {
      ...pointer,
      onKeyDown: keysOf(props, selection),
      onFocus(event: FocusEvent) {
        if (index === null && (event.currentTarget as HTMLElement).matches(':focus-visible'))
          point(count - 1);
      },
      onBlur() {
        pointer.onPointerCancel();
        point(null);
      },
    },
  };
}

interface Selection {
  /** Where the selection began; `null`: nothing is selected. */
  readonly anchor: number | null;
  readonly setAnchor: (step: number | null) => void;
  /** The nearest existing step. */
  readonly within: (step: number) => number;
  /** The selection if it ends at this step. */
  readonly rangeTo: (step: number) => StepRange;
}

function keysOf({ count, index, point, hasRanges, pick }: StepHandlers, selection: Selection) {
  const { anchor, setAnchor, within, rangeTo } = selection;
  return (event: KeyboardEvent): void => {
    const move = MOVES[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isUsed = move !== undefined || event.key === 'Enter' || (event.key === 'Escape' && anchor !== null);
    if (!isUsed) return;
    event.preventDefault();
    event.stopPropagation();
    const here = index ?? count - 1;
    if (move !== undefined) {
      setAnchor(event.shiftKey && hasRanges ? (anchor ?? here) : null);
      point(within(here + move));
    } else {
      if (event.key === 'Enter') pick(rangeTo(here), 'keys');
      setAnchor(null);
    }
  };
}

function usePointer({ count, point, hasRanges, pick }: StepHandlers, selection: Selection) {
  const { setAnchor, within, rangeTo } = selection;
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
      if (hasRanges && pressed.current !== null && step !== pressed.current) setAnchor(pressed.current);
      point(step);
    },
    onPointerUp(event: PointerEvent) {
      if (pressed.current === null) return;
      pick(rangeTo(stepOf(event)), event.pointerType === 'touch' ? 'touch' : 'mouse');
      onPointerCancel();
    },
    onPointerCancel,
    onPointerLeave(event: PointerEvent) {
      // A step that was touched stays until another one is touched.
      if (event.pointerType !== 'touch') point(null);
    },
  };
}
