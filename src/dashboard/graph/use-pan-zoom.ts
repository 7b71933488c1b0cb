import { useEffect, useRef, useState } from 'preact/hooks';
import { type Layout, NODE, type Point } from './layout.ts';

const SMALLEST = 0.02;
const LARGEST = 3;
const DRAG_PX = 4;

/** The smallest zoom at which names are readable. */
const READABLE = 0.75;

/** Where a drawing begins on the screen: centred if it fits, otherwise with the given point near the middle. */
function startOf(length: number, room: number, at: number): number {
  return length <= room ? (room - length) / 2 : Math.min(0, Math.max(room - length, room / 2 - at));
}

/** Pans and zooms by wheel, drag, pinch and buttons. @param first point to show if the drawing does not fit */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: listeners, timers and their clean-up share local variables
export function usePanZoom(layout: Layout, layoutKey: unknown, first: Point | undefined) {
  const ref = useRef<HTMLDivElement | null>(null);
  const [size, setSize] = useState({ width: 800, height: 500 });
  // Maps drawing coordinates to the screen: `screen = drawing × k + (x, y)`.
  const [view, setView] = useState({ x: 0, y: 0, k: 1 });
  const pointers = useRef(new Map<number, Point>());
  const dragged = useRef(0);
  const latest = useRef({ layout, size, first });
  latest.current = { layout, size, first };

  function show(least: number): void {
    const { layout: now, size: room, first: point } = latest.current;
    const k = Math.max(least, Math.min(1, room.width / now.width, room.height / now.height));
    const x = startOf(now.width * k, room.width, (point?.x ?? 0) * k);
    setView({ k, x, y: startOf(now.height * k, room.height, (point?.y ?? 0) * k) });
  }
  const showAll = (): void => show(SMALLEST);

  function zoomAt(factor: number, x: number, y: number): void {
    setView((before) => {
      const k = Math.min(LARGEST, Math.max(SMALLEST, before.k * factor));
      const change = k / before.k;
      return { k, x: x - (x - before.x) * change, y: y - (y - before.y) * change };
    });
  }

  useEffect(() => {
    const element = ref.current;
    if (element === null) return undefined;
    const measure = (): void => {
      const { clientWidth: width, clientHeight: height } = element;
      setSize({ width, height });
      latest.current = { ...latest.current, size: { width, height } };
    };
    measure();
    show(READABLE);
    const observer = new ResizeObserver(measure);
    observer.observe(element);

    const onWheel = (event: WheelEvent): void => {
      event.preventDefault();
      const box = element.getBoundingClientRect();
      zoomAt(
        Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0016)),
        event.clientX - box.left,
        event.clientY - box.top,
      );
    };
    const onDown = (event: PointerEvent): void => {
      pointers.current.set(event.pointerId, { x: event.clientX, y: event.clientY });
      dragged.current = 0;
    };
    const onMove = (event: PointerEvent): void => {
      const before = pointers.current.get(event.pointerId);
      if (before === undefined) return;
      const others = [...pointers.current].filter(([id]) => id !== event.pointerId);
      const [dx, dy] = [event.clientX - before.x, event.clientY - before.y];
      dragged.current += Math.abs(dx) + Math.abs(dy);
      const other = others[0]?.[1];
      if (other !== undefined) {
        const box = element.getBoundingClientRect();
        const was = Math.hypot(before.x - other.x, before.y - other.y);
        const is = Math.hypot(event.clientX - other.x, event.clientY - other.y);
        if (was > 0)
          zoomAt(is / was, (event.clientX + other.x) / 2 - box.left, (event.clientY + other.y) / 2 - box.top);
      } else setView((now) => ({ ...now, x: now.x + dx, y: now.y + dy }));
      pointers.current.set(event.pointerId, { x: event.clientX, y: event.clientY });
    };
    const onUp = (event: PointerEvent): void => void pointers.current.delete(event.pointerId);
    const listening = new AbortController();
    const { signal } = listening;
    element.addEventListener('wheel', onWheel, { passive: false, signal });
    element.addEventListener('pointerdown', onDown, { signal });
    window.addEventListener('pointermove', onMove, { signal });
    window.addEventListener('pointerup', onUp, { signal });
    window.addEventListener('pointercancel', onUp, { signal });
    return () => {
      observer.disconnect();
      listening.abort();
    };
  }, []);

  useEffect(() => show(READABLE), [layoutKey]);

  return {
    view,
    ref,
    zoom: (factor: number) => zoomAt(factor, size.width / 2, size.height / 2),
    showAll,
    centre(point: Point) {
      setView((before) => {
        const k = Math.max(before.k, 0.7);
        return { k, x: size.width / 2 - point.x * k, y: size.height / 2 - point.y * k };
      });
    },
    /** Centres a node that is not completely visible. */
    reveal(point: Point) {
      const { width, height } = latest.current.size;
      setView((before) => {
        const { k } = before;
        const [x, y] = [point.x * k + before.x, point.y * k + before.y];
        const [aside, above] = [(NODE.width / 2) * k, (NODE.height / 2) * k];
        const isInSight = x >= aside && x <= width - aside && y >= above && y <= height - above;
        return isInSight ? before : { k, x: width / 2 - point.x * k, y: height / 2 - point.y * k };
      });
    },
    /** Whether the pointer moved while it was down: the click at the end of a drag must be ignored. */
    wasDragged: () => dragged.current > DRAG_PX,
  };
}
