import type { Mail } from './mailer.ts'

/** Content of a mail as unescaped text. Both the text and the HTML form are made from it. */
export type MailContent = {
  to: Mail['to']
  subject: string
  /** First paragraph: the event and the reason for this mail. */
  opening: string
  button: { label: string; link: string }
  /** Details about the button's link, such as its expiry. */
  about: string
  /** Advice for a recipient who did not expect the mail. */
  otherwise: string
  /** Origin of the sending hub. */
  publicUrl: string
}

// Colours of the console's light and dark theme, in hexadecimal because mail programs do not support `oklch`.
const LIGHT = { canvas: '#faf9f6', surface: '#ffffff', line: '#e3e2dd', text: '#171c24', quiet: '#4a4f57' }
const DARK = { canvas: '#0c0f15', surface: '#14171e', line: '#232730', text: '#eef0f4', quiet: '#babec6' }
const LIGHT_BUTTON = { back: '#204ec3', text: '#ffffff', link: '#1d4bc0' }
const DARK_BUTTON = { back: '#84abfc', text: '#081123', link: '#98baff' }

/** Dark colours, for mail programs that support `prefers-color-scheme`. Other programs use the inline light colours. */
const DARK_STYLE = `@media (prefers-color-scheme: dark) {
  .canvas { background: ${DARK.canvas} !important; color: ${DARK.text} !important }
  .card { background: ${DARK.surface} !important; border-color: ${DARK.line} !important }
  .quiet { color: ${DARK.quiet} !important }
  .button { background: ${DARK_BUTTON.back} !important; color: ${DARK_BUTTON.text} !important }
  .link { color: ${DARK_BUTTON.link} !important }
}`

/** Renders a mail in two forms: plain text, and HTML with a light and a dark theme and without external resources. */
export function mailOf({ to, subject, opening, button, about, otherwise, publicUrl }: MailContent): Mail {
  const sender = `Sent by Muster at ${publicUrl}.`
  const quiet = `class="quiet" style="margin:16px 0 0;color:${LIGHT.quiet}"`
  const link = escaped(button.link)
  return {
    to,
    subject: oneLine(subject),
    link: button.link,
    text: `${[oneLine(opening), `${button.label}:\n${button.link}`, about, otherwise, `-- \n${sender}`].join(
      '\n\n',
    )}\n`,
    html: `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${escaped(subject)}</title>
<style>:root { color-scheme: light dark }
${DARK_STYLE}</style>
</head>
<body class="canvas" style="margin:0;padding:24px 12px;background:${LIGHT.canvas};color:${LIGHT.text};font:16px/1.5 system-ui,sans-serif">
<main class="card" style="max-width:520px;margin:0 auto;padding:32px;background:${LIGHT.surface};border:1px solid ${LIGHT.line};border-radius:10px">
<h1 style="margin:0 0 16px;font-size:20px;line-height:1.3;overflow-wrap:anywhere">${escaped(subject)}</h1>
<p style="margin:0 0 24px;overflow-wrap:anywhere">${escaped(opening)}</p>
<p style="margin:0 0 24px"><a class="button" href="${link}" style="display:inline-block;padding:10px 20px;border-radius:6px;background:${LIGHT_BUTTON.back};color:${LIGHT_BUTTON.text};font-weight:600;text-decoration:none">${escaped(button.label)}</a></p>
<p ${quiet}>${escaped(about)}</p>
<p ${quiet}>If the button does not work, open this address:<br><a class="link" href="${link}" style="color:${LIGHT_BUTTON.link};overflow-wrap:anywhere">${link}</a></p>
<p ${quiet}>${escaped(otherwise)}</p>
<p ${quiet}>${escaped(sender)}</p>
</main>
</body>
</html>
`,
  }
}

/** Formats a time for readers in any time zone, such as `3 December 2026 at 14:05 UTC`. */
export function readableTime(date: Date): string {
  return `${date.toLocaleString('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' })} UTC`
}

/**
 * Replaces control characters, line breaks and Unicode direction marks by blanks, since they would break a line or reorder the
 * text.
 */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu, ' ')
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return oneLine(text).replace(/[&<>"']/g, character => ENTITIES[character]!)
}
