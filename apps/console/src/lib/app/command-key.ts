/** Name of the modifier key of shortcuts that also work in input fields: "⌘" on Apple systems, else "Ctrl". */
export const COMMAND_KEY = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘' : 'Ctrl'
