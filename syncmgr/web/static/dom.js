// Descriptions of elements, and a document that is brought in line with them.
// Owns: how nodes are made, kept and removed. All text is text: nothing that a server says becomes markup.
// Must not know: what is shown.

const SVG = "http://www.w3.org/2000/svg";
const SHAPES = new Set(["svg", "path", "circle", "line", "text"]);
const PROPERTIES = new Set(["value", "disabled", "checked", "selected", "hidden"]);
const keys = new WeakMap();
const given = new WeakMap();

export function h(tag, props, ...children) {
  const shown = children.flat(Infinity).filter((each) => each != null && each !== false && each !== "");
  return { tag, props: props ?? {}, children: shown };
}

/** Brings the children of `root` in line; the focus stays where it is. */
export function render(root, ...children) {
  const focused = document.activeElement;
  patch(root, children.flat(Infinity).filter((each) => each != null && each !== false && each !== ""));
  if (focused && focused !== document.activeElement && focused.isConnected && root.contains(focused)) {
    focused.focus({ preventScroll: true });
  }
}

function patch(parent, wanted) {
  const keyed = new Map();
  for (const node of parent.childNodes) if (keys.has(node)) keyed.set(keys.get(node), node);
  let at = parent.firstChild;
  for (const child of wanted) {
    const kept = reusable(at, keyed, child);
    const node = kept ?? made(child);
    update(node, child); // before it is in the document: an element may look at its attributes there
    if (node !== at) parent.insertBefore(node, at);
    at = node.nextSibling;
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

function reusable(at, keyed, child) {
  if (typeof child !== "object") return at?.nodeType === Node.TEXT_NODE ? at : null;
  const found = child.props.key === undefined ? at : keyed.get(child.props.key);
  if (!found || found.nodeType !== Node.ELEMENT_NODE || found.localName !== child.tag) return null;
  return keys.get(found) === child.props.key ? found : null;
}

function made(child) {
  if (typeof child !== "object") return document.createTextNode("");
  const node = SHAPES.has(child.tag) ? document.createElementNS(SVG, child.tag) : document.createElement(child.tag);
  if (child.props.key !== undefined) keys.set(node, child.props.key);
  return node;
}

function update(node, child) {
  if (typeof child !== "object") {
    const text = String(child);
    if (node.data !== text) node.data = text; // a selection in it stays
    return;
  }
  const before = given.get(node) ?? {};
  for (const name of Object.keys(before)) if (!(name in child.props)) set(node, name, null);
  for (const [name, value] of Object.entries(child.props)) if (value !== before[name] || name === "value") set(node, name, value);
  given.set(node, child.props);
  if (!child.tag.includes("-")) patch(node, child.children);
}

function set(node, name, value) {
  if (name === "key") return;
  if (name.startsWith("on")) node[name] = value;
  else if (PROPERTIES.has(name)) {
    const next = value ?? (name === "value" ? "" : false);
    if (node[name] !== next) node[name] = next;
  } else if (value == null || value === false) node.removeAttribute(name);
  else node.setAttribute(name, value === true ? "" : String(value));
}
