import { useEffect, useState } from 'preact/hooks';

/** Copies a text and confirms it. */
export function CopyButton({
  text,
  label = 'Copy',
  what,
}: {
  readonly text: string | (() => string);
  readonly label?: string;
  readonly what?: string;
}) {
  const [said, setSaid] = useState<string | null>(null);
  useEffect(() => {
    if (said === null) return undefined;
    const timer = setTimeout(() => setSaid(null), 1_500);
    return () => clearTimeout(timer);
  }, [said]);

  async function copy(): Promise<void> {
    const value = typeof text === 'string' ? text : text();
    setSaid((await copyText(value)) ? 'Copied' : 'Not allowed');
  }

  return (
    <button
      type="button"
      class="small"
      aria-label={what === undefined ? undefined : `${label} ${what}`}
      onClick={() => void copy()}
    >
      <span aria-live="polite">{said ?? label}</span>
    </button>
  );
}

/** A text, and a button that copies it. @param props.what what it is */
export function Copyable({ text, what }: { readonly text: string; readonly what: string }) {
  return (
    <>
      <span class="mono wrap">{text}</span> <CopyButton text={text} what={what} />
    </>
  );
}

/** Copies a text. Browsers offer the clipboard API on secure origins only. Elsewhere use `execCommand`. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    area.className = 'offscreen';
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}
