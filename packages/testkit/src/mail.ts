import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import PostalMime, { type Email } from 'postal-mime'

/** A mail as its reader gets it. */
export type ReceivedMail = {
  /** Addresses in its head. */
  to: string[]
  from: string
  subject: string
  text: string
  html: string
  /** The first link in its text. */
  link: string
  /** Everything else, parsed. */
  email: Email
  /** As it came. */
  raw: string
}

/** Reads the text of a mail. */
export async function parseMail(raw: Buffer): Promise<ReceivedMail> {
  const email = await PostalMime.parse(raw)
  const text = email.text ?? ''
  return {
    to: (email.to ?? []).map(({ address }) => address ?? ''),
    from: email.from?.address ?? '',
    subject: email.subject ?? '',
    text,
    html: email.html ?? '',
    link: /https?:\/\/\S+$/m.exec(text)?.[0] ?? '',
    email,
    raw: raw.toString(),
  }
}

/** The mails in the outbox of a hub without a mail server, oldest first. */
export async function mailsIn(dataDir: string): Promise<ReceivedMail[]> {
  const folder = join(dataDir, 'outbox')
  const names = await readdir(folder).catch(() => [])
  const files = names.filter(name => name.endsWith('.eml')).sort()
  return Promise.all(files.map(async name => parseMail(await readFile(join(folder, name)))))
}
