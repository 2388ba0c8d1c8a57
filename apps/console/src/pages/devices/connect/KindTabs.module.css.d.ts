declare const styles: {
  readonly tabs: string
}
export default styles
