// Replaces this process by the program in the arguments, with the environment of the service muster-hub. That is the one of its running
// process (`SERVICE_PROCESS`, base64), else the one of its unit (`SERVICE_ENVIRONMENT`, as systemctl prints it) with the texts of its
// files (`SERVICE_FILES`). A process without privileges can change its own, so this runs under the account of the service.
import process from 'node:process'
import { parseEnv } from 'node:util'

/** Variables by which systemd supervises the service. They do not concern a command. */
const SUPERVISION = [
  'INVOCATION_ID',
  'JOURNAL_STREAM',
  'MEMORY_PRESSURE_WATCH',
  'MEMORY_PRESSURE_WRITE',
  'NOTIFY_SOCKET',
  'SYSTEMD_EXEC_PID',
  'WATCHDOG_PID',
  'WATCHDOG_USEC',
]
/** Variables of the caller that a command keeps: settings for this one command, passwords for PostgreSQL, and the terminal. */
const OF_CALLER = /^(MUSTER_|PG|TERM$|PATH$)/

// biome-ignore lint/style/noProcessEnv: these are no settings of this program
const { SERVICE_PROCESS, SERVICE_ENVIRONMENT = '', SERVICE_FILES = '', ...caller } = process.env
const service =
  SERVICE_PROCESS === undefined
    ? { ...fromEntries(wordsOf(SERVICE_ENVIRONMENT)), ...parseEnv(SERVICE_FILES) }
    : fromEntries(Buffer.from(SERVICE_PROCESS, 'base64').toString().split('\0'))
for (const name of SUPERVISION) delete service[name]
const kept = Object.entries(caller).filter(([name]) => OF_CALLER.test(name))
const words = process.argv.slice(2)
process.execve(words[0], words, { ...service, ...Object.fromEntries(kept) })

/**
 * Variables of assignments, `NAME=value` each. Other texts are left out.
 * @param {string[]} entries
 */
function fromEntries(entries) {
  return Object.fromEntries(
    entries.filter(entry => entry.includes('=')).map(entry => /^([^=]*)=(.*)$/s.exec(entry).slice(1)),
  )
}

/**
 * Assignments as systemctl and units have them: between blanks, in quotes where they contain some.
 * @param {string} text
 */
function wordsOf(text) {
  return (text.match(/(?:"(?:\\.|[^"\\])*"|[^\s"])+/gs) ?? []).map(word =>
    word.replace(/"((?:\\.|[^"\\])*)"/gs, (_all, inside) => inside.replace(/\\(.)/gs, '$1')),
  )
}
