declare const styles: {
  readonly moves: string
}
export default styles
