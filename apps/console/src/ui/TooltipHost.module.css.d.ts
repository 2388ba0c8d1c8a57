declare const styles: {
  readonly tip: string
}
export default styles
