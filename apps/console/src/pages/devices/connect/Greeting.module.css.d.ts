declare const styles: {
  readonly actions: string
  readonly greeting: string
  readonly head: string
  readonly name: string
  readonly progress: string
}
export default styles
