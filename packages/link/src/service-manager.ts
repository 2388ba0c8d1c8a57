import { spawn } from 'node:child_process'

/** Bound of one run of `systemd-notify`, which waits until systemd has read the message. */
const NOTIFY_TIMEOUT_MS = 10_000

/** Reports of a service to systemd (sd_notify(3)). */
export type ServiceManager = {
  /** Reports that the service has started, and from then on, often enough for `WatchdogSec`, that its event loop runs. */
  ready(): void
  /** Reports that the service stops. */
  stopping(): void
}

/**
 * Connects a service to systemd, if that started it with `Type=notify`; else nothing is ever sent. Node cannot send to a Unix datagram
 * socket, so systemd's own program `systemd-notify` does. The unit needs `NotifyAccess=all`, because that program is a child process.
 * `env` has the variables that systemd sets. `onFailure` gets the reason, once, if messages cannot be sent.
 */
export function connectServiceManager(
  env: Record<string, string | undefined>,
  onFailure: (reason: string) => void,
  program = 'systemd-notify',
): ServiceManager {
  let hasFailed = false
  const fail = (reason: string): void => {
    if (!hasFailed) onFailure(reason)
    hasFailed = true
  }
  const notify = (...messages: string[]): void => {
    if (!env.NOTIFY_SOCKET) return
    const child = spawn(program, messages, { stdio: 'ignore', timeout: NOTIFY_TIMEOUT_MS, env })
    child.on('error', ({ message }) => fail(message))
    child.on(
      'exit',
      (code, signal) => code !== 0 && fail(`${program} ended with ${signal ?? `exit code ${code}`}`),
    )
    child.unref()
  }
  return {
    ready() {
      notify('READY=1')
      const watchdogMs = Number(env.WATCHDOG_USEC) / 1000
      // systemd kills a service that was silent for `WatchdogSec`. A third leaves room for one message that is late.
      if (watchdogMs > 0) setInterval(() => notify('WATCHDOG=1'), watchdogMs / 3).unref()
    },
    stopping: () => notify('STOPPING=1'),
  }
}
