// Draws the reference from openapi.json, and sends requests to this server. Text is only ever set as text.
"use strict";

const METHODS = ["get", "post", "put", "patch", "delete"];

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children.filter((child) => child !== null));
  return made;
}

function table(headings, rows) {
  const cells = (kind, texts) => element("tr", {}, ...texts.map((text) => element(kind, {}, String(text ?? ""))));
  return element("table", {}, element("thead", {}, cells("th", headings)), element("tbody", {}, ...rows.map((row) => cells("td", row))));
}

class Reference {
  constructor(description) {
    this.description = description;
  }

  resolved(schema, depth = 0) {
    if (schema && schema.$ref && depth < 5) {
      return this.resolved(schema.$ref.split("/").slice(1).reduce((at, name) => at[name], this.description), depth + 1);
    }
    return schema ?? {};
  }

  typeOf(schema) {
    if (schema.$ref) return schema.$ref.split("/").pop();
    const choices = schema.anyOf || schema.oneOf;
    if (choices) return choices.map((each) => this.typeOf(each)).join(" | ");
    if (schema.enum) return schema.enum.join(" | ");
    if (schema.const !== undefined) return JSON.stringify(schema.const);
    if (schema.type === "array") return `[${this.typeOf(schema.items ?? {})}]`;
    return schema.type ?? "any";
  }

  fields(schema) {
    const whole = this.resolved(schema);
    const parts = (whole.anyOf || [whole]).map((each) => this.resolved(each)).filter((each) => each.properties);
    return parts.map((part) => element("div", {},
      element("p", {}, element("code", {}, part.title ?? "")),
      table(["field", "type", "meaning"], Object.entries(part.properties).map(([name, field]) => [
        (part.required ?? []).includes(name) ? `${name} *` : name, this.typeOf(field), field.description ?? this.resolved(field).description])),
    ));
  }

  example(schema) {
    const whole = this.resolved(schema);
    if (whole.examples) return whole.examples[0];
    const part = whole.anyOf ? this.resolved(whole.anyOf[0]) : whole;
    if (part.examples) return part.examples[0];
    return Object.fromEntries((part.required ?? []).map((name) => [name, part.properties[name].examples?.[0] ?? ""]));
  }

  section(tag, found) {
    return element("section", {},
      element("h2", {}, tag.name), element("p", {}, tag.description ?? ""),
      ...found.map(([path, method, operation]) => this.operation(path, method, operation)));
  }

  operation(path, method, operation) {
    const scope = operation["x-scope"] ? element("span", { className: "scope" }, operation["x-scope"]) : null;
    const drawn = element("details", { id: operation.operationId },
      element("summary", {},
        element("code", { className: "method" }, method.toUpperCase()), element("code", {}, path), scope,
        ` ${operation.operationId.replaceAll("_", " ")}`));
    drawn.dataset.words = `${path} ${operation.operationId} ${operation.description ?? ""}`.toLowerCase();
    drawn.addEventListener("toggle", () => {
      if (drawn.open && !drawn.querySelector(".body")) drawn.append(this.body(path, method, operation));
    });
    return drawn;
  }

  body(path, method, operation) {
    const parameters = operation.parameters ?? [];
    const content = Object.entries(operation.requestBody?.content ?? {})[0];
    const answers = Object.entries(operation.responses);
    const good = answers.filter(([status]) => status.startsWith("2"));
    return element("div", { className: "body" },
      ...(operation.description ?? "").split("\n\n").map((text) => element("p", {}, text)),
      parameters.length ? table(["parameter", "in", "type", "meaning"], parameters.map((each) => [
        each.required ? `${each.name} *` : each.name, each.in, this.typeOf(each.schema ?? {}), each.description])) : null,
      content ? element("h4", {}, "Request") : null, ...(content ? this.fields(content[1].schema) : []),
      element("h4", {}, "Answers"),
      table(["status", "meaning"], answers.map(([status, answer]) => [status, this.resolved(answer).description])),
      ...good.flatMap(([, answer]) => Object.values(answer.content ?? {}).flatMap((kind) => this.fields(kind.schema))),
      this.tryOut(path, method, parameters, content));
  }

  tryOut(path, method, parameters, content) {
    const inputs = parameters.map((each) => [each, element("input", { ariaLabel: each.name })]);
    const body = content ? element("textarea", { ariaLabel: "body", value: JSON.stringify(this.example(content[1].schema), null, 2) }) : null;
    const answer = element("pre", { hidden: true });
    const button = element("button", { type: "button" }, "Send");
    button.addEventListener("click", async () => {
      answer.hidden = false;
      answer.textContent = await send(path, method, inputs, body?.value, content?.[0]);
    });
    return element("div", {},
      element("h4", {}, "Try it"),
      ...inputs.map(([each, input]) => element("label", {}, `${each.name} `, input)), body, button, answer);
  }
}

async function send(path, method, inputs, body, type) {
  const query = new URLSearchParams();
  const headers = {};
  let target = path;
  for (const [parameter, input] of inputs) {
    if (parameter.in === "path") target = target.replace(`{${parameter.name}}`, encodeURIComponent(input.value));
    else if (input.value && parameter.in === "query") query.set(parameter.name, input.value);
    else if (input.value && parameter.in === "header") headers[parameter.name] = input.value;
  }
  const key = document.getElementById("key").value;
  if (key) headers.Authorization = `Bearer ${key}`;
  if (body) headers["Content-Type"] = type;
  try {
    const response = await fetch(query.size ? `${target}?${query}` : target, { method: method.toUpperCase(), headers, body: body || undefined });
    const text = await response.text();
    let shown = text;
    try { shown = JSON.stringify(JSON.parse(text), null, 2); } catch { /* it is no JSON, so it is shown as it is */ }
    return `${response.status} ${response.statusText}\n\n${shown}`;
  } catch (fault) {
    return String(fault);
  }
}

async function draw() {
  const description = await (await fetch("/api/v1/openapi.json")).json();
  const reference = new Reference(description);
  const found = Object.entries(description.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method) => [path, method, item[method]]));
  const known = new Map((description.tags ?? []).map((tag) => [tag.name, tag]));
  for (const [, , operation] of found) for (const name of operation.tags ?? ["other"]) if (!known.has(name)) known.set(name, { name });
  const sections = [...known.values()].map((tag) =>
    [tag, found.filter(([, , operation]) => (operation.tags ?? ["other"]).includes(tag.name))]).filter(([, mine]) => mine.length);
  document.getElementById("operations").replaceChildren(
    element("p", {}, description.info.description), ...sections.map(([tag, mine]) => reference.section(tag, mine)));
  document.getElementById("find").addEventListener("input", (event) => {
    const words = event.target.value.toLowerCase().split(/\s+/);
    for (const drawn of document.querySelectorAll("details")) drawn.hidden = !words.every((word) => drawn.dataset.words.includes(word));
  });
  if (location.hash) {
    const named = document.getElementById(location.hash.slice(1));
    if (named) { named.open = true; named.scrollIntoView(); }
  }
}

draw().catch((fault) => { document.getElementById("operations").textContent = `The document cannot be read: ${fault}`; });
