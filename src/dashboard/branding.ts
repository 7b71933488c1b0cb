/**
 * Title, links and logo that the host has configured. They are in an attribute of the HTML, since a CSP may
 * forbid inline scripts.
 */
export interface Branding {
  readonly title: string;
  readonly links: readonly { readonly text: string; readonly url: string }[];
  readonly logo: string | null;
}

/** Reads the branding from the page's root element. Without it the title is "Task monitor". */
export function readBranding(root: HTMLElement): Branding {
  return JSON.parse(root.dataset.branding ?? '{"title":"Task monitor","links":[],"logo":null}') as Branding;
}
