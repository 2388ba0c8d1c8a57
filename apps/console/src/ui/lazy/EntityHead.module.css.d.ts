declare const styles: {
  readonly actions: string
  readonly facts: string
  readonly head: string
  readonly title: string
}
export default styles
