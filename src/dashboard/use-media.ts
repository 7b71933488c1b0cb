import { useEffect, useState } from 'preact/hooks';

/** Whether a media query holds. */
export function useMedia(text: string): boolean {
  const [holds, setHolds] = useState(() => matchMedia(text).matches);
  useEffect(() => {
    const media = matchMedia(text);
    const read = (): void => setHolds(media.matches);
    read();
    media.addEventListener('change', read);
    return () => media.removeEventListener('change', read);
  }, [text]);
  return holds;
}
