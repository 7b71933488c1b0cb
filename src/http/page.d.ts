/** The module that the build makes of the page's files: `dist/page.js`. */
declare module '#page' {
  export const manifest: {
    /** Entry script of the page. */
    readonly script: string;
    /** Static imports of that script, to be preloaded. */
    readonly imports: readonly string[];
    readonly style: string;
    readonly icon: string;
  };
  /** Every file that may be requested, by name: compressed with Brotli, as base64. */
  export const files: Readonly<Record<string, string>>;
}
