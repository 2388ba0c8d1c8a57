// The process that hashes passwords, forked by `passwords.ts`: each message is a task, each answer bears its number.
import { writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import { hash, type Options, verify } from '@node-rs/argon2'

/** A password to hash, or to compare with the hash it should have. */
export type PasswordTask = { password: string } & ({ parameters: Options } | { against: string })

/** The hash, or whether the password is the one. */
export type PasswordAnswer = { id: number; outcome: string | boolean } | { id: number; error: string }

/** A tenth of the weight of others: with every core taken a hash of 10 ms is there after 100 ms. */
const NICENESS = 10

setPriority(NICENESS)
try {
  // Linux shares cores between sessions first, and by priority only within one: this process leads a session of its own.
  writeFileSync('/proc/self/autogroup', String(NICENESS))
} catch {
  // Other systems, and kernels without such groups, go by the priority alone.
}

process.on('message', (message: PasswordTask & { id: number }) => void answer(message))
process.on('disconnect', () => process.exit())

async function answer(task: PasswordTask & { id: number }): Promise<void> {
  process.send!(await outcomeOf(task))
}

async function outcomeOf(task: PasswordTask & { id: number }): Promise<PasswordAnswer> {
  try {
    const { id, password } = task
    const outcome = await ('against' in task
      ? verify(task.against, password)
      : hash(password, task.parameters))
    return { id, outcome }
  } catch (error) {
    return { id: task.id, error: String(error) }
  }
}
