/**
 * Tokens in the `User-Agent` header that identify browsers. The order matters, because Edge and other browsers include the token
 * of Chrome for compatibility.
 */
const BROWSERS: [RegExp, string][] = [
  [/\bEdgi?A?\w*\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\b(Firefox|FxiOS)\//, 'Firefox'],
  [/\b(Chrome|CriOS|Chromium|HeadlessChrome)\//, 'Chrome'],
  [/\bVersion\/[\d.]+ .*\bSafari\//, 'Safari'],
  [/^curl\//, 'curl'],
]

const SYSTEMS: [RegExp, string][] = [
  [/\bAndroid\b/, 'Android'],
  [/\b(iPhone|iPad|iPod)\b/, 'iOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
]

/** A user agent as "Firefox on Linux". If only one of the two is known, only that; `undefined` if neither is known. */
export function describeUserAgent(userAgent: string): string | undefined {
  const [browser, system] = [BROWSERS, SYSTEMS].map(list => list.find(([look]) => look.test(userAgent))?.[1])
  return browser && system ? `${browser} on ${system}` : (browser ?? system)
}
