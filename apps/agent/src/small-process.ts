// Imported first by `main.ts`.
import { accessSync, constants } from 'node:fs'

/**
 * Options that Node takes only at its start. With the first one Node trusts the system's certificate authorities without holding their
 * texts in the heap, which saves 4.5 MiB; the second one saves 1.5 MiB (`npm run bench -- agent`).
 */
const OPTIONS = ['--use-system-ca', '--max-semi-space-size=1']
const missing = OPTIONS.filter(option => !process.execArgv.includes(option))
// The command `run` lasts for years, so it starts this process once more. One-shot commands should be quick.
if (process.argv.includes('run', 2) && missing.length > 0 && process.execve) {
  try {
    // Node aborts when the program cannot be executed, for example because an upgrade has replaced it.
    accessSync(process.execPath, constants.X_OK)
    process.execve(
      process.execPath,
      [process.execPath, ...missing, ...process.execArgv, ...process.argv.slice(1)],
      // biome-ignore lint/style/noProcessEnv: Node 24.0.0 passes no environment unless it is named
      process.env,
    )
  } catch {
    // These options only save memory; the agent also runs without them.
  }
}
