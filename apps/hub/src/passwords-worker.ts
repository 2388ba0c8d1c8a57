import { hashSync, type Options, verifySync } from '@node-rs/argon2'

/** What the threads of `passwords.ts` do: hash a password, or compare it with the hash it should have. */
export type PasswordTask = { password: string } & ({ parameters: Options } | { against: string })

/** Runs in a thread of its own; answers the hash, or whether the password is the one. */
export function hashOrVerify(task: PasswordTask): string | boolean {
  return 'against' in task
    ? verifySync(task.against, task.password)
    : hashSync(task.password, task.parameters)
}
