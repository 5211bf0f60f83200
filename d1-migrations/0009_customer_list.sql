DROP INDEX `customers_by_id_search`;--> statement-breakpoint
DROP INDEX `customers_by_name_search`;--> statement-breakpoint
DROP INDEX `customers_by_email_search`;--> statement-breakpoint
CREATE INDEX `customers_by_search` ON `customers` (`organization_id`,`customer_id`,`customer_id_lower`,`friendly_name_lower`,`email_lower`,`plan_id`);--> statement-breakpoint
CREATE INDEX `customers_on_credit` ON `customers` (`organization_id`,`customer_id`) WHERE on_credit = 1;--> statement-breakpoint
CREATE INDEX `customers_denied` ON `customers` (`organization_id`,`customer_id`) WHERE denied = 1;--> statement-breakpoint
CREATE INDEX `customer_days_by_model` ON `customer_days` (`organization_id`,`paid_model`,`customer_id`,`day_ms`);